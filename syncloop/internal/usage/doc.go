// Package usage computes rates and totals from the counters of pods: the processor time of
// each container becomes a rate, and what all pods have used becomes counters of the node
// that never go down. It is pure: times and figures come as arguments.
package usage
