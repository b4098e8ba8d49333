// Package gc removes what is left in the runtime when it is of no use any
// more. It works beside the sync loop, never on it: housekeeping decides what
// may go and hands over UIDs; this package performs the calls, and asks again
// before each of them whether the answer still holds, since a UID may have come
// back to life in the meantime.
//
//	housekeeping ──Discard──▶ queue ──▶ look ──▶ removable? ──▶ RemoveSandbox ──▶ Removed
//	                            ▲        │ runs: kept   │ no: kept        │
//	                            └─────── with backoff ◀── error ──────────┘
//
// # The contract
//
//   - Discard never blocks and may say the same any number of times: a pod that
//     waits keeps its place and its backoff. One that is handed over while it
//     is being removed is looked at once more, so that nothing can fall between.
//   - Whether a pod runs is asked of the runtime right before: one that does is
//     not touched, whatever the picture was that housekeeping had.
//   - Removable is asked before each sandbox. A pod that is to be kept after
//     all is kept from that point on.
//   - A call that removes, once sent, runs to its own timeout.
//   - A removal that fails is tried again after 10 s, doubling to 5 minutes. The
//     reason is told once, and again when it changes.
//   - A runtime that hangs on one pod holds up others for at most one timeout
//     per call.
//
// # Statements kept
//
// GC-6 for removed pods: all inactive sandboxes go, and with them their
// containers. GC-7: a sandbox that can not be stopped is not removed, since
// RemoveSandbox stops first and fails if it can not. Of the architecture:
// destructive IO runs off the loop and is checked again at the moment it is
// done.
//
// # Differences from the kubelet
//
//   - A pod that is gone loses all its records at once, not container by
//     container (GC-1 to GC-4, GC-10 are about pods that are still there).
//   - Containers in an unknown state keep their pod (GC-5 kills them first):
//     housekeeping sees such a pod as running and has it ended by a worker.
//   - A failed removal has a backoff of its own and a visible reason, in place
//     of being met again at each round (kubernetes/kubernetes#93925, 107730).
package gc
