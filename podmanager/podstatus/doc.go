// Package podstatus decides phase, conditions and restarts of a pod from its containers. It uses types
// of the Kubernetes API alone. A provider of virtual nodes, a CRI shim or a test of a controller
// provides the container statuses and gets the rest of the status from here:
//
//	status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
//
// A Reason is the field Reason of a container's state: why it waits, or how it has terminated. Decisions,
// statuses, errors of a sync and explanations for people use the same reasons. A new waiting reason is a
// change of waiting.go alone: one constant, one row in the table of meanings, and, if it depends on the
// pod and its published status, one case in WaitingReason.
//
// The fields Started and Ready of a container status are decided and written in readiness.go.
//
// The package is pure. It stores nothing and reads no clock: the status store sets the transition times of
// conditions. Package podsync and the status store of this module use these functions. Package backoff
// computes the delay before a container restarts.
package podstatus
