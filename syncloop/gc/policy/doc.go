// Package policy decides which leftovers of pods, images and logs are removed (experimental). It
// decides about dead containers and unused sandboxes of existing pods, log directories, images, and
// rotated logs. It is pure: its inputs are records, rules and the time, and its results are
// removals.
//
// It never selects
//
//   - a container that runs, that was created and may be about to start, or whose state is
//
// unknown;
//   - the newest record of a name in an incarnation of its pod, because restart counts,
//
// last terminations and restarts depend on it;
//   - the newest sandbox of a pod, a ready sandbox, or one with containers;
//   - a record without a UID;
//   - an image that is pinned or that a container record refers to;
//   - a directory whose name is not the name of a pod's log directory;
//   - a file beside a log whose name is not the name of a rotated log.
//
// Records that must stay may exceed the maximum counts. The name of a new rotated log has a UTC
// time later than all others in its directory, so the order of the names is correct even if the
// clock is set back.
package policy
