// Package policy decides what a node may remove: dead containers and sandboxes of pods
// that are still there, directories of logs, and images; and how a log that is too large
// is rotated. It is pure: the caller passes records, limits and the time, and performs
// what is returned.
//
//   - Containers.Decide names dead containers and unused sandboxes.
//   - Images.TooMuch, Expired and ToRemove pick images.
//   - Logs.Rotate names the files to rename, compress and remove.
//   - PodOfLogs and AttemptOfLog read the names of directories and files.
//
// # What is never named
//
//   - A container that runs, was created and may be about to start, or whose
//     state is unknown.
//   - The newest record of a name in a life of its pod: restart counts, last
//     states and the decision to start again go by it.
//   - The newest sandbox of a pod, one that is ready, or one with containers.
//   - A record without a UID, which is nobody's we know.
//   - An image that is pinned, or that a container record refers to.
//   - A directory whose name is not that of a pod's logs.
//   - A file beside a log whose name is none that a rotation gives.
//
// # Statements kept
//
// GC-1, GC-3, GC-4, GC-6, GC-8, IG-1 to IG-4 and IG-6. GC-11 in the better
// order: attempts before times (17 of part 4). Of 36: retention by count per
// container and per pod, and by age. F95: how many files there are of a log.
//
// # Differences from the kubelet
//
//   - The maxima spare what must stay, and may be exceeded by that.
//   - A dead container is one that has exited: what was created and never ran
//     is the syncer's to remove, and what is unknown is ended first (GC-5).
//   - The times in the names of rotated logs are in UTC, and later than all that are
//     there: a clock that is set back, or to summer time, changes no order.
//   - Of a rotation whose undoing was cut short the second name goes.
package policy
