// Package podstatus tells what the containers of a pod mean for the pod, in types of the
// Kubernetes API alone: its phase, its conditions, and whether a container that has ended
// restarts. A provider of virtual nodes, a CRI shim or a test of a controller that has
// container statuses gets the rest from here:
//
//	status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
//
// The package is pure. It remembers nothing and uses no time: the store of the status sets
// the transition times of conditions. Package podsync and the status store of this module
// use the same functions. Package backoff computes the delay before a container restarts.
package podstatus
