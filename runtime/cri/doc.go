// Package cri drives a container runtime over CRI v1, such as CRI-O and containerd. It is the only
// package that imports the CRI API.
//
// # Connection
//
// New does not connect. The first call connects. A call after a lost connection connects again, for
// ever, with pauses of at most a second. A call without a connection fails at once with
// runtime.ErrNotReady. The first call on each connection fetches the version and features of the
// runtime. Every call has a deadline, except Exec, logs and streams, which last until their context
// ends.
//
// # Owners
//
// Every sandbox and container has the label podkeel.dev/owner, which the labels of the pod cannot
// override. Lists return only the records of one owner. A call with the ID of another owner's
// record returns ErrForeign. Two agents on one runtime therefore do not see each other, and never
// change the pods of a kubelet. A kubelet knows no owners and kills the pods of this package.
// Images have no owner. OwnerFile stores the name of an owner.
//
// The other labels, log paths and sandbox names are the same as the kubelet's, so that tools show
// pods as usual. This package creates the log directories, because CRI leaves this to its
// clients.
//
// # Responses are checked
//
// After each stop, also a failed one, the state of the container or sandbox is read. A response for
// another ID is an error. An unknown state is StateUnknown. Records without metadata are skipped
// and reported to Hooks.Skipped. Records are sorted by attempt. A list from a runtime that reports
// that it is not ready is ErrNotReady. Lists that are larger than a message are read as a stream or
// in parts. The response to a call shows whether the runtime supports it; each new connection tries
// again.
//
// A record whose reply was lost is found by owner, UID, name and attempt. A second request for the
// same attempt is ErrExists, also while the first is in progress. An event stream ends with an
// error and may be opened again at once. An event is a hint, and only its IDs are used.
//
// # Logs and streams
//
// ReadLog reads the log files of the runtime, so it must run on the same machine. With Follow it
// continues over rotations, but it misses a file if two rotations happen between two reads. Parts
// of long lines are joined, separately for stdout and stderr. A log file that is a symbolic link is
// not read. Log rotation needs ReopenContainerLog.
//
// ExecStream, Attach and PortForward use the streaming server of the runtime. Its address must be a
// loopback address; Config.DialContext dials it. Attach fails if the container exits within a
// second and the client has received nothing: the output is in the log.
//
// # Limits of runtimes
//
//   - CRI cannot remove a container on condition that it never ran. The state is checked just before,
//     and containerd refuses during a start. A start by a killed agent may still happen between the
//     two. podsync therefore starts a created container that it finds. It removes one only to create it
//     differently.
//   - If containerd is killed after it has started a process and before it has stored that, it loses the
//     start. If the process still runs, containerd finds it. If the process has exited, the container
//     counts as created.
package cri
