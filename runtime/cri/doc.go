// Package cri drives a container runtime that speaks CRI v1, as containerd and CRI-O do. It
// is the only package that knows CRI.
//
// # Connection
//
// New starts nothing and connects to nothing. The first call connects. Calls after a lost
// connection connect again, with pauses of at most a second, for ever; a call without a
// connection fails at once with runtime.ErrNotReady. The first call on each connection asks
// the runtime for its version and features. Every call has a deadline, except Exec, logs
// and streams, which end with their context.
//
// # Owners
//
// Every sandbox and container carries the label podkeel.dev/owner, whatever the pod's own
// labels say. Lists ask for one owner's records. A call that names an ID of another owner
// returns ErrForeign. So two agents on one runtime do not see each other, and nothing of a
// kubelet is touched. A kubelet knows no owners and ends the pods of this package. Images
// have no owner. OwnerFile keeps an owner's name.
//
// Labels, log paths and names of sandboxes are the kubelet's, so tools show pods as usual.
// Directories for logs are created here, because CRI leaves them to its clients.
//
// # Answers are checked
//
// After each stop the container or sandbox is inspected, also after a stop that failed.
// Answers for another ID are errors. Unknown states are StateUnknown. Records without
// metadata are skipped and reported to Hooks.Skipped. Records are sorted by attempt. A list
// from a runtime that says it is not ready is ErrNotReady. Lists that are larger than a
// message are read as a stream or in parts. A feature that is missing is found by the
// runtime's answer, and tried again on the next connection.
//
// A record whose reply was lost is found by owner, UID, name and attempt. A second request
// for the same attempt is ErrExists, also while the first is under way. A stream of events
// ends with an error and may be opened again at once; an event is a hint and nothing else
// of it is used.
//
// # Logs and streams
//
// ReadLog reads the files that the runtime writes, so it has to run on the runtime's
// machine. A follower reads over rotations, but misses a file if two rotations come between
// two reads. Long lines are joined, those of stdout apart from those of stderr. A log that
// is a link is not read. ReopenContainerLog is what a rotation needs.
//
// ExecStream, Attach and PortForward use the streaming server that the runtime names, on a
// loopback address only, dialed with Config.DialContext. Attach fails if the container exits
// within a second and the client has got nothing: what it printed is in its log.
//
// # Limits of runtimes
//
//   - CRI cannot remove a container only if it never ran. The state is checked just before,
//     and containerd refuses while a start is under way, but a start that a killed agent
//     sent may end in between. podsync therefore starts what it finds created, and removes
//     only what it would make differently.
//   - A containerd that is killed between the start of a process and the writing of its
//     status has forgotten the start. If the process still runs it is found again; if it
//     has ended, the container counts as created.
package cri
