// Package podstatus decides phase, conditions and restarts of a pod from its containers. It tells what
// the containers mean for the pod, in types of the Kubernetes API alone. A provider of virtual nodes,
// a CRI shim or a test of a controller that has container statuses gets the rest from here:
//
//	status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
//
// A Reason is the word by which a status says why a container waits or how it has terminated.
// Decisions, statuses, errors of a sync and explanations for people all use these words. A new
// reason for which a container waits is a change of waiting.go alone: one constant, one row in the
// table of meanings, and, if it follows from the pod and its published status, one case in
// WaitingReason. The sentence in its row is what the explanation of a pod says.
//
// The package is pure. It remembers nothing and uses no time: the store of the status sets
// the transition times of conditions. Package podsync and the status store of this module
// use the same functions. Package backoff computes the delay before a container restarts.
package podstatus
