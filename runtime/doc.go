// Package runtime has the types and the interface by which Podkeel drives a container runtime. The
// types are pods, sandboxes, containers and images. It runs nothing: packages memory and cri and your
// own runtime do.
//
// # What an implementer writes
//
// The four roles of Runtime, and nothing else. A runtime that can do more has the method
// Features, which returns one value with a role for each thing:
//
//	func (r *Mine) Features() runtime.Features {
//		return runtime.Features{Execer: r, LogReader: r, StatsReader: r}
//	}
//
// Callers ask again before each use, and never ask a type what it implements. A pod that
// needs a role which is nil is refused at admission, with the name of the field.
//
// # What an implementer promises
//
// Records. A sandbox is one attempt at a place for a pod; a container is one attempt at
// running one name in one sandbox. Both keep the UID, incarnation, name and attempt of the
// request that made them. Exited records stay until they are removed: they are the only
// memory that survives the agent.
//
// Order. Attempts order the records of a name; times are for display. Two records of one
// name never have the same attempt within one sandbox.
//
// Idempotency. Stop and Remove may be called any number of times, in any state.
// StartContainer of a running container succeeds. A second RunSandbox or CreateContainer
// for the same attempt returns ErrExists and has no effect.
//
// Lost replies. A call that ends with an error of this package has had no effect, with two
// exceptions: a context that ended, and ErrNotReady. After those the call may have
// happened, may still happen, or may never happen. The caller checks with PodStatus and
// repeats the same attempt until it exists or its number is free.
//
// Answers. PodStatus shows every effect of a call that has returned. ListPods may lag, but
// does not go back. A pod or container is missing from an answer only if it has no record;
// a runtime that cannot answer in full returns an error. What was returned is never changed
// afterwards.
//
// Stopping. StopContainer and StopSandbox return nil only when nothing of the container, or
// of the whole sandbox, runs any more.
//
// Ends. A container that exits keeps its exit code and both times. Code 137 is a kill, 143
// an end on TERM.
//
// Contexts. The end of a context ends the caller's wait, and not always the work. No method
// blocks much longer than its context allows.
//
// Package runtimetest checks all of this for any implementation.
package runtime
