// Package plan decides what to do with a pod and what its status is. It is pure: the pod,
// what the runtime shows and the time go in; what to do next, or a v1.PodStatus, comes out.
// Package podsync executes it. A node agent of your own, a dry run or a table test calls it
// directly.
//
//	Decide      what to do next
//	Containers  the status of each container
//	Conclude    phase and conditions
//
// All functions return values, change nothing that they are given, and may be called
// concurrently.
//
// # Input
//
// The caller passes what the records of the runtime cannot tell: whether the pod has
// initialized in its sandbox, what was published before, and until when a container has to
// wait. A start that has to wait is not among the steps to do; its time is. Probe results
// are applied between Containers and Conclude.
//
// # Records
//
// A record counts for the incarnation and the sandbox that it belongs to. Records of one
// name are ordered by attempt, and by time only where attempts are equal. Records of other
// incarnations count for one thing: a new attempt gets a number that none of them has.
//
// # What is decided
//
//   - A restart of all containers comes first, then a new sandbox, if the pod needs one.
//   - Init containers start one after the other. A sidecar keeps running, and the next
//     container waits until it has started.
//   - Regular containers start when initialization is complete in this sandbox. Ephemeral
//     containers start at any time, once.
//   - A container that runs outside the current sandbox, incarnation or spec is stopped.
//     While an attempt runs, no other begins.
//   - A container whose image changed, or whose liveness or startup probe failed, is
//     stopped and started again if its policy says so.
//   - Whether a container restarts is decided by its rules, then its policy, then that of
//     its pod. A container in an unknown state has most likely run.
package plan
