// Package gc removes what is left in the runtime when it is of no use any
// more. It works beside the sync loop, never on it, and asks again right before
// each removal whether it still may.
//
// # Pods that are gone
//
// Housekeeping decides which pods may go and hands over UIDs; Pods performs the
// calls. A UID may have come back to life in the meantime.
//
//	housekeeping ──Discard──▶ queue ──▶ look ──▶ removable? ──▶ RemoveSandbox ──▶ Removed
//	                            ▲        │ runs: kept   │ no: kept        │
//	                            └─────── with backoff ◀── error ──────────┘
//
// What they can count on who hand over:
//
//   - Discard never blocks and may say the same any number of times: a pod that
//     waits keeps its place and its backoff. One that is handed over while it
//     is being removed is looked at once more, so that nothing can fall between.
//   - Whether a pod runs is asked of the runtime right before: one that does is
//     not touched, whatever the snapshot was that housekeeping had, and is looked at
//     again after a while.
//   - Removable is asked before each sandbox. A pod that is to be kept after
//     all is kept from that point on.
//
// # Dead containers of pods that are still there
//
// Containers cuts them to what its Policy keeps, and removes sandboxes that
// nobody uses. A moment after each sync of a pod, and so after each end of a
// container, it looks at the snapshot that others have, which costs no call; only if there
// is something to remove is the runtime asked what it is. The decision is that
// of the pure package internal/policy, which lists what is never removed.
// Nothing polls: what Policy.MinAge or MaxAge keeps for a time has a due time.
//
// # Images
//
// Images removes what no container refers to: if the disk of the images is full,
// down to its low mark, least recently used first; and what nobody has used for
// a long time, if an age is set. It looks at its beginning, a moment after pulls
// and after removals of records, and every five minutes only while that may
// have a result: an age is set, or the disk is above the low mark. Of a runtime
// that knows no disk, and without an age, nothing is even listed.
//
// Which images are in use is asked of the runtime before each round of removals,
// after an images.Sweep has begun: so a container that comes meanwhile has a
// lease that the sweep knows. If the runtime cannot say of one pod what it uses
// nothing is removed.
//
// # Directories
//
// What pods leave on the disk is not the runtime's: the logs of their containers
// (logfiles.Dir) and their volumes (volumes.Dir). Directories looks for it when
// somebody says that pods have gone, or may have been gone all along; never by
// itself. A directory goes if nobody wants or works on its pod, by its UID, and the
// runtime has no records of that, both of which are asked right before; and a store
// asks the former once more, while it keeps the pod from being set up. Some are found
// at once, at most DirectoriesConfig.MaxDirectories, then the next. What removals have
// left that failed or were cut short is removed with them, or told of and tried again.
//
// # Logs
//
// Logs rotates the logs of running containers: every ten seconds, as long as the
// snapshot that others have shows any, it looks at the size of each, which costs no
// call, and tells the runtime of those it has put away. What a log has become is
// logfiles' business. A rotation that fails is tried at every look, as the log goes on
// growing.
//
// # For all that remove
//
//   - A call that removes, once sent, runs to its own timeout.
//   - A removal that fails is tried again after 10 s, doubling to 5 minutes. The
//     reason is told once, and again when it changes.
//   - What a runtime says that it has removed is looked for.
//   - A runtime that hangs on one pod holds up others for at most one timeout
//     per call.
//
// # Statements kept
//
// GC-1, GC-3, GC-4, GC-6, GC-10 and GC-11 for pods that are still there; GC-6 for
// removed pods: all inactive sandboxes go, and with them their containers. GC-7: a
// sandbox that can not be stopped is not removed, since RemoveSandbox stops first
// and fails if it can not. Of the architecture: destructive IO runs off the loop
// and is checked again at the moment it is done. IG-1 to IG-6, but for image volumes.
// GC-8, HC-2 and SP-24: directories of pods that are gone. KC-17: the logs of an
// attempt, rotated ones included, go right before its record, which stays as long
// as they cannot be removed. F95: what a container prints for ever is bounded, by size
// and number of files, and what it prints between two looks.
//
// # Differences from the kubelet
//
//   - A pod that is gone loses all its records at once, not container by
//     container (GC-2).
//   - The newest record of a container stays as long as its pod, also of one that
//     has finished or was evicted (GC-10), and whatever the maxima say.
//   - Images are not looked at every five minutes whatever happens, and that too
//     few can be removed is said once until they can (IG-4).
//   - An image is in use also while somebody is about to make a container of it
//     (part 4, 38).
//   - The logs of the newest attempt of which there is a record stay, and of those
//     after it: their number is what is left to count by if records are lost (KC-2).
//     Those of attempts whose records others have removed go with the next (GC-9).
//   - Directories are looked for when there is a reason, not in each housekeeping,
//     and not before every source has said everything: whose a directory is it
//     does not tell (GC-8).
//   - There is no round every minute: the end of a container is what removes the
//     one before it, and no request is dropped for want of room.
//   - Logs are rotated two at once, and compressed beside; nothing is looked at while no
//     container runs.
//   - Containers in an unknown state keep their pod (GC-5 kills them first):
//     housekeeping sees such a pod as running and has it ended by a worker.
//   - A failed removal has a backoff of its own and a visible reason, in place
//     of being met again at each round (kubernetes/kubernetes#93925, 107730).
package gc
