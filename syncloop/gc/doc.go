// Package gc removes what pods have left over. These are records of removed pods, dead containers,
// unused images, directories, and old logs. It works beside the sync loop, never on it, and asks again
// right before each removal whether it is still allowed.
//
// # Pods
//
// Housekeeping decides which pods may go and hands over their UIDs. Pods performs the
// calls:
//
//	housekeeping ──Discard──▶ queue ──▶ inspect ──▶ removable? ──▶ RemoveSandbox ──▶ Removed
//	                            ▲        │ runs: kept   │ no: kept        │
//	                            └─────── with backoff ◀── error ──────────┘
//
// Discard never blocks and may be called any number of times for a UID: a waiting pod keeps
// its place and its backoff. A pod that is handed over while it is being removed is
// inspected once more. A pod that runs is not touched and is inspected again later.
// Removable is asked before each sandbox.
//
// # Dead containers
//
// Containers removes dead containers beyond Policy, and sandboxes without use, of pods that
// still exist. A moment after each sync of a pod it reads the observed state, which costs
// no call; it asks the runtime only if there is something to remove. What Policy.MinAge or
// MaxAge keeps has a due time.
//
// # Images
//
// Images removes images that no container refers to: down to the low mark if the disk is
// above the high mark, least recently used first, and those that were not used for MaxAge.
// It runs at its start, a moment after pulls and removals, and every five minutes only
// while that may have a result. Before each round it asks the runtime which images are in
// use, by containers of any agent, after an images.Sweep has begun, so that a container
// created meanwhile has a lease. If the runtime cannot answer, nothing is removed.
//
// # Directories
//
// Directories removes log and volume directories of removed pods. It looks for them when it
// is told that pods have gone. A directory goes if its UID is neither desired nor worked on
// and the runtime has no records of it; both are asked right before. At most
// DirectoriesConfig.MaxDirectories are found at once.
//
// # Logs
//
// Logs rotates the logs of running containers: every ten seconds while a container runs it
// reads the size of each log, which costs no call, and tells the runtime to reopen those
// that were rotated.
//
// # Every removal
//
//   - A call, once sent, runs to its own timeout.
//   - A failed removal is repeated after 10 s, doubling to 5 minutes. Its reason is
//     reported once, and again when it changes.
//   - What the runtime says it has removed is checked.
//   - A runtime that hangs on one pod delays others by at most one timeout per call.
package gc
