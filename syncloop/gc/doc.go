// Package gc removes leftovers of pods. These are records of removed pods, dead containers, unused
// images, directories, and old logs. It runs beside the sync loop and never blocks it. It checks
// right before each removal whether the removal is still allowed.
//
// # Pods
//
// Housekeeping decides which pods may be removed and passes their UIDs to Discard. Pods makes the
// calls:
//
//	housekeeping ──Discard──▶ queue ──▶ inspect ──▶ removable? ──▶ RemoveSandbox ──▶ Removed
//	                            ▲        │ runs: kept   │ no: kept        │
//	                            └─────── with backoff ◀── error ──────────┘
//
// Discard never blocks and may be called any number of times for a UID: a waiting pod keeps its
// place and its backoff. A pod that is passed again during its removal is inspected once more. A
// pod that runs is not changed, and is inspected again later. Removable is called before each
// sandbox.
//
// # Dead containers
//
// Containers removes dead containers beyond Policy, and unused sandboxes, of pods that still exist.
// A moment after each sync of a pod it reads the snapshot of the runtime, which costs no call. It
// calls the runtime only if there is something to remove. A container that Policy.MinAge or MaxAge
// keeps is checked again when it reaches that age.
//
// # Images
//
// Images removes images that no container refers to. If the disk usage is above the high threshold,
// it removes the least recently used ones down to the low threshold. It also removes images that
// were not used for MaxAge. It runs at its start, a moment after pulls and removals, and every five
// minutes only while that may have a result. Before each round it reads from the runtime which
// images are in use, by containers of any agent. It does so after images.Sweep has begun, so that a
// container created meanwhile has a lease. If the runtime returns an error, no image is removed.
//
// # Directories
//
// Directories removes log and volume directories of removed pods. It searches for them after a call
// of Changed. A directory is removed if its UID is neither desired nor has a worker, and the
// runtime has no records of it; both are checked right before. One search returns at most
// DirectoriesConfig.MaxDirectories pods.
//
// # Logs
//
// Logs rotates the logs of running containers. Every ten seconds while a container runs, it reads
// the size of each log, which costs no call. It renames large logs and tells the runtime to reopen
// them.
//
// # Every removal
//
//   - A call that was sent is not cancelled before its own timeout.
//   - A failed removal is repeated after 10 s, doubling to 5 minutes. Its reason is
//
// logged once, and again when it changes.
//   - The runtime's report of a removal is checked.
//   - A runtime that hangs on one pod delays others by at most one timeout per call.
package gc
