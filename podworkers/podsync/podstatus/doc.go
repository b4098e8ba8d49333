// Package podstatus says what the containers of a pod mean for the pod, in types of
// the Kubernetes API alone: its phase, its conditions, and whether a container that
// has ended runs again. Whoever has container statuses, as a provider of virtual nodes,
// a CRI shim or a test of a controller has, gets the rest from here.
//
// The package is pure. Nothing is remembered, and time plays no part: transition times
// of conditions are left to whoever stores the status. Package podsync and the status
// store of this module use the same functions, so that there is one answer.
package podstatus
