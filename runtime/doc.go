// Package runtime defines the interface by which Podkeel drives a container runtime. It also defines
// its types: pods, sandboxes, containers and images. The package runs nothing. Packages memory and cri
// implement the interface, and so can you.
//
// # What you implement
//
// You implement the four roles of Runtime. A runtime that can do more also has the method Features,
// which returns one value with a role for each optional feature:
//
//	func (r *Mine) Features() runtime.Features {
//		return runtime.Features{Execer: r, LogReader: r, StatsReader: r}
//	}
//
// Callers call Features before each use. They never use a type assertion to find a role. A pod that
// needs a role which is nil is rejected at admission. The message names the missing field of
// Features.
//
// # What your implementation guarantees
//
// Records. A sandbox record is one attempt to run a pod. A container record is one attempt to run a
// container name in one sandbox. Both store the UID, incarnation, name and attempt of the request
// that created them. Records of exited containers stay until they are removed. After a restart of
// the agent they are the only memory of earlier starts.
//
// Order. The attempt numbers order the records of a name. Times are for display only. Within one
// sandbox, no two records of one name have the same attempt.
//
// Idempotency. Stop and Remove may be called any number of times, in any state. StartContainer of a
// running container succeeds. A second RunSandbox or CreateContainer for the same attempt returns
// ErrExists and has no effect. After the record is removed, the attempt can be used again. The new
// record has a new ID.
//
// Stored state. A backend that outlives the agent may store less than a record, for example only an
// ID. Then store the other fields of the record on disk before RunSandbox or CreateContainer returns.
// Before StartContainer starts the job, store a name by which it finds the job again. If a record is
// lost while its job runs, nothing stops the job, and the node may start the container again.
//
// A backend that dies with the agent. Code in the agent's process is one, such as WebAssembly modules.
// After a restart the node runs every pod from the beginning, also a half-run or completed pod with
// restartPolicy Never. Restart counts begin at zero, or after the newest log file below Logs.Root.
// Back-off starts over, so a container that crashes the agent restarts with it at once: let the
// supervisor of the agent delay that. node.Config.Pods.TerminalStatuses keeps a pod that has succeeded,
// failed or was evicted from running again. A program can also store the status that Node.Watch yields
// before a Drain, and put it into the pod of Node.Apply. Restart counts then continue, and a pod with
// restartPolicy Never that was running becomes Failed. Such a program calls Node.Drain before it exits.
//
// Sandboxes. A sandbox may be only a record, as in examples/ownruntime. A ready sandbox outside the
// host network has its IPs when RunSandbox returns. The node replaces a ready sandbox without an IP.
//
// Lost replies. A call that returns an error of this package had no effect, with two exceptions:
// the error of an ended context, and ErrNotReady. After these two the effect may have happened, may
// still happen, or may never happen. The caller then reads PodStatus, and repeats the call with the
// same attempt until the record exists or the call succeeds.
//
// Answers. PodStatus shows every effect of a call that has returned. ListPods may be older, but a
// later list is never older than an earlier one. A pod or container is missing from a result only
// if it has no record. A runtime that cannot return a complete result returns an error. A returned
// value is never modified afterwards.
//
// Stopping. StopContainer returns nil only when the container does not run any longer. StopSandbox
// returns nil only when no container of the sandbox runs any longer.
//
// Exits. An exited container keeps its exit code and its start and finish times. Exit code 137
// means that it was killed. Exit code 143 means that it exited on TERM. Without signals, as on Windows
// or for a module, the implementation sets these codes itself: 143 for a job that ends because a stop
// asked for it, 137 for a job that it has aborted.
//
// Jobs that cannot be killed at once. StopContainer returns the error of its context while the job
// runs, and the record stays running. The node calls again. Meanwhile the pod holds its name and
// resources. A job that can never be killed needs a process of its own.
//
// Contexts. When a context ends, the method returns, but the work may continue. No method blocks
// much longer than its context allows.
//
// Package runtimetest checks all of these guarantees for any implementation.
package runtime
