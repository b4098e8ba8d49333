// Package policy decides which leftovers of pods, images and logs are removed (experimental). It
// judges dead containers and sandboxes of pods that still exist, directories of logs, images, and
// rotated logs. It is pure: records, rules and the time go in, removals come out.
//
// It never names
//
//   - a container that runs, that was created and may be about to start, or whose state is
//     unknown;
//   - the newest record of a name in an incarnation of its pod, because restart counts,
//     last terminations and restarts depend on it;
//   - the newest sandbox of a pod, one that is ready, or one with containers;
//   - a record without a UID;
//   - an image that is pinned or that a container record refers to;
//   - a directory whose name is not that of a pod's logs;
//   - a file beside a log whose name is not that of a rotated log.
//
// The maximum counts may be exceeded by what must stay. The names of rotated logs have UTC
// times that are later than all others there, so setting the clock back changes no order.
package policy
