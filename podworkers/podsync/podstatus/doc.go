// Package podstatus says what the containers of a pod mean for the pod, in types of
// the Kubernetes API alone: its phase, its conditions, and whether a container that
// has ended runs again. A program that has container statuses computes the rest with it:
// a provider of virtual nodes, a CRI shim, a test of a controller.
//
//	status = podstatus.Conclude(pod, status, podstatus.Observed{SandboxReady: true})
//
// The package is pure. Nothing is remembered, and time plays no part: transition times
// of conditions are set where the status is stored. Package podsync and the status
// store of this module use the same functions, so that there is one answer. How a
// container that has ended is delayed before it runs again is for package backoff.
//
// # Differences from the kubelet
//
//   - A published terminal phase stays even if another terminal one is computed, and so
//     does its first reason: an evicted pod whose containers end with 0 has not succeeded.
//   - A pod that lost its sandbox before all its containers had run, and whose policy
//     forbids another one, has Failed with reason SandboxLost, and is not Pending for ever.
//   - A sidecar that never ran keeps a pod Pending only before a regular container has run
//     in the same sandbox.
//   - What still runs in an older sandbox than the pod's counts neither as running nor as
//     initialized.
//   - A container that was told to end for the sake of the next attempt has not succeeded
//     with 0.
//   - In a terminal phase ContainersReady and Ready give that as their reason, also where a
//     container has no status.
package podstatus
