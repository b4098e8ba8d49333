// Package runtime holds the words in which Podkeel speaks of pods, sandboxes,
// containers and images, and the interface by which it drives them. It runs
// nothing: memory, cri and your own runtime do.
//
// # What an implementer promises
//
// Records. A sandbox is one attempt at a place for a pod; a container is one
// attempt at running one name in one sandbox. Both keep the UID, incarnation,
// name and attempt of the request that made them, and exited records stay
// until they are removed: they are the only memory that survives the agent.
//
// Order. Attempts order the records of a name; times are for people. Two
// records of one name never have the same attempt within one sandbox.
//
// Idempotency. Stop and Remove may be called any number of times, in any
// state; StartContainer of a running container succeeds. RunSandbox and
// CreateContainer are made idempotent by their attempt: the second call for
// the same attempt is ErrExists and has no effect.
//
// Lost replies. A call that ends with an error of ours has had no effect,
// with two exceptions: a context that ended, and ErrNotReady. After those the
// call may have happened, may happen yet, or never; the caller looks with
// PodStatus and repeats the same attempt until it is seen or free.
//
// Truth. PodStatus shows every effect of a call that has returned. ListPods
// may lag, but not go back. A pod or container is missing from an answer only
// if it has no record; a runtime that cannot answer in full answers with an
// error. What was returned is never changed afterwards: readers share it.
//
// Stopping. StopContainer and StopSandbox return nil only when nothing of the
// container, or of the whole sandbox, runs any more.
//
// Ends. A container that exits keeps its exit code and both times. Code 137 is
// a kill, 143 an end on TERM.
//
// Contexts. An ended context ends the wait of the caller, not necessarily the
// work. No method blocks much longer than its context allows.
//
// The package runtimetest checks all of this for any implementation.
package runtime
