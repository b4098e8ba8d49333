// Package usage computes rates and totals from the counters of pods: the processor time of
// each container becomes a rate, and what all pods have used becomes counters of the node
// that never go down. It is pure: times and figures come as arguments.
//
// It is a package of its own because package node, its importer, may not import stats, which imports node.
package usage
