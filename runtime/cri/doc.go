// Package cri drives a container runtime that speaks CRI v1, as containerd and
// CRI-O do, over its socket. It is the only place that knows CRI.
//
// New starts nothing and connects to nothing. The first call connects, and each
// call after a connection was lost connects again, with pauses of at most a
// second, for ever; a call while there is no connection fails at once with
// runtime.ErrNotReady. The first call on each connection asks the runtime who
// it is. Nothing runs in the background but gRPC's own reading and writing.
//
// # Owners
//
// Every sandbox and container carries the label podkeel.dev/owner, written over
// whatever the pod says. Lists ask for one owner's records only. A verb that
// names an ID looks first whether that is ours, and is ErrForeign if it is not;
// what we have made or listed is remembered and needs no second look. So two
// agents on one runtime do not see each other, and nothing of the kubelet's is
// touched; but a kubelet knows no owners, and ends what it finds of ours. Images are
// everybody's. OwnerFile keeps an owner's name.
//
// Directories for logs are made here, as CRI leaves them to its clients (KC-3).
// Labels, log paths and names of sandboxes are the kubelet's, so tools show
// pods as they are used to.
//
// # What is not believed
//
// That a container or sandbox has stopped is looked at after each stop, as
// runtimes have been seen to lie (F58), and that a stop has failed as well
// (F59). Answers for another ID than the one that was asked for are errors.
// Unknown states are StateUnknown; records without metadata or pod are skipped
// and reported to Hooks.Skipped (F62). A list of a runtime that says it is not
// ready is ErrNotReady.
//
// # Statements kept
//
// I34-I37 (with podsync: a record whose reply was lost is found by owner, UID,
// name and attempt; a second request for the same is ErrExists, while it is
// under way too, and so is a start while another is), I38 (foreign records are left alone), I40 (an event is a hint
// and nothing else of it is used).
//
// F53 (no socket: ErrNotReady, then it works), F54 (every call has a deadline, but
// what goes on for as long as its caller wants: Exec, logs, streams, events),
// F55 and F56 (lost replies and reserved names), F57 (a start that fails leaves
// an exited record, which the runtime keeps), F58, F59, F60 (PodStatus asks
// directly), F61 (records come sorted by attempt, whatever their times), F62,
// F63 (lists longer than a message come as a stream, or in parts), F64 (each
// feature is found missing by its answer, and sought again on the next
// connection), F65 and F66 (the stream ends with an error and may be opened
// again at once), F67 (a runtime that was killed is waited for by nobody and
// found by the next call), F69 (a container whose
// sandbox is gone is listed), F70 (ErrImage), F71 (ErrNetworkNotReady where the
// runtime says so), F72 (a stop that fails is an error), F73 (greeted again),
// F74 (owners).
//
// # Differences from the kubelet, and why
//
//   - RemoveContainer looks whether the container runs, and does not kill it:
//     the runtime promises ErrWrongState.
//   - StopContainer and StopSandbox of an unknown ID are ErrNotFound.
//   - Exec's time is the caller's context; the runtime is told it in whole
//     seconds, rounded up.
//   - The image of a container as it was asked for is kept in an annotation,
//     since 1.6 drops the field.
//
// # Logs
//
// ReadLog reads the files that the runtime writes, in CRI's format; so it has to run
// where the runtime does. Who follows a log follows it over rotations, of which there
// are few: two between two of his reads are one file that he misses. What was
// printed before, the last lines too, is read from the file at the log's path only.
// ReopenContainerLog is what a rotation needs of a runtime (F95); who rotates is package
// gc. A file that is a link is not read.
// Pieces of long lines are put together, those of stdout apart from those of stderr.
//
// # Streams
//
// ExecStream, Attach and PortForward go over the streaming server whose address the
// runtime returns. It is dialed, with Config.DialContext, on a loopback address only;
// elsewhere they are ErrUnsupported.
//
// # What runtimes cannot do
//
//   - CRI cannot remove a container only if it never ran. That is looked at just
//     before, and containerd refuses while a start is under way; but the start that
//     an agent sent before it was killed may end in between, and what it ran is
//     gone then. podsync starts what it finds created, which the runtime decides
//     alone, and removes only what it would not make so any more.
//   - A containerd that is killed, or loses power, between the start of a process
//     and the writing of its status has forgotten the start. If the process still
//     runs it is found again. If it has ended, and its task with it, the container
//     is shown as created, and a job runs a second time, in the same container: 2.4
//     takes the shim of a task without processes for one that was left over and
//     removes it; in any version the task is gone after the machine was switched
//     off, and if the start was being given up, as the agent was killed just before.
//     Nothing that CRI shows tells of it, and the kubelet starts such a container
//     again too.
//   - CRI reserves a container's name and attempt for the pod, not for the
//     sandbox: attempts must go on counting in a pod's next sandbox.
//   - A shim of containerd that signals and reaps too many containers at once takes
//     minutes for it: of those of a sandbox 8 are stopped at once, and the next one
//     when the runtime has answered one of these, or after 0.4 s (F13).
//   - CRI has no field for a limit of processes but the settings of cgroup v2. On a host
//     with cgroup v1, or with both, a container runs without it and the log tells so.
//     The kubelet limits the processes of a pod by a cgroup of its own.
//   - A stop signal is passed on, and passed over by containerd before 2.1.
//   - containerd 1.6 lets a command run on whose stream has ended (ExecStream).
//   - Exec returns stdout before stderr, whatever the order they were written in.
//   - Read-only mounts are made so recursively where the runtime says that its
//     handler can; where it must be and cannot, ErrUnsupported.
//   - A runtime without streaming lists that has more containers in one state than
//     fit into a message shows of these only those whose sandbox is still there, as
//     no filter finds the others; and if it has that many images, ListImages fails.
package cri
