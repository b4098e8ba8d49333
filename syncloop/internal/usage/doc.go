// Package usage computes rates and totals from the counters of pods. The processor time of each container
// becomes a rate. The usage of all pods becomes counters of the node that never decrease. It is pure: times
// and figures are arguments.
//
// It is a package of its own because its importer, package node, may not import package stats, which
// imports node.
package usage
