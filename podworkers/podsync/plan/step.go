package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Op is what a step does.
type Op uint8

// The operations. An executor that meets one that it does not know, or the zero value,
// must stop there: the steps after it rely on it.
const (
	// StopPod stops all containers of the pod and then all its sandboxes, of every
	// incarnation, and removes containers that were created and never ran.
	StopPod Op = iota + 1
	// StopContainer stops the container with the ID. Steps of this kind that follow each
	// other may be done at the same time; the same holds for StopSandbox.
	StopContainer
	// RemoveContainer removes the record of a container that does not run, by its ID.
	RemoveContainer
	// StopSandbox stops the sandbox with the ID, in which nothing runs.
	StopSandbox
	// RemoveSandbox removes the sandbox with the ID, in which nothing runs.
	RemoveSandbox
	// CreateSandbox creates and starts a sandbox with the number Attempt.
	CreateSandbox
	// StartContainer creates a container with the number Attempt in the sandbox SandboxID,
	// and starts it. The records of Created are removed first.
	StartContainer
)

var opNames = [...]string{"", "StopPod", "StopContainer", "RemoveContainer", "StopSandbox", "RemoveSandbox", "CreateSandbox", "StartContainer"}

// String is the name of the constant.
func (op Op) String() string {
	if int(op) < len(opNames) && op > 0 {
		return opNames[op]
	}
	return "unknown"
}

// Step is one thing to do with the runtime. Which fields it has depends on Op; the others
// are zero.
type Step struct {
	Op Op
	// Reason is why, for logs and people.
	Reason Why
	// Independent says that the steps after it are done even if this one fails. Without it
	// a failure ends the list: the next decision begins again from what the runtime shows.
	Independent bool
	// ID is the runtime's ID of the container or sandbox that is stopped or removed.
	ID string
	// Name is the name of the container.
	Name string
	// Grace, in seconds, replaces the grace period of the pod for this StopContainer; nil:
	// that of the pod holds. A shorter one that the pod was deleted with goes before it.
	Grace *int64
	// Container is the spec of the container to start; it is shared with the pod.
	Container *v1.Container
	// Attempt is the number that the new sandbox or container gets.
	Attempt uint32
	// SandboxID is the sandbox to start a container in. Empty: the one that the step
	// CreateSandbox of the same list has made.
	SandboxID string
	// Created are the IDs of earlier attempts at the container that were created and never
	// ran. They must be gone before another one is created, so that there are never two.
	Created []string
	// Reuse is the ID in Created of a container that is as the new one would be. It may be started
	// instead of a new one. Then the executor sets Attempt to the attempt of the record. Empty: there
	// is none.
	Reuse string
	// Replaces says that this StopContainer makes room for the next attempt at a container that
	// its policy would not start again after an exit with 0.
	Replaces bool
}

// Held is a step that is not done before a time. Nothing is done for it until then; of what
// is replaced, what there is stays as it is.
type Held struct {
	Step
	Until time.Time
	// Delay is the length of the whole delay.
	Delay time.Duration
}

// Decision is what to do with a pod now.
type Decision struct {
	// Steps are done one after the other, in this order. None: nothing has to be done.
	Steps []Step
	// Held are the steps that wait: first replacements of what the runtime reports
	// otherwise than it was asked for, then starts that their crash loop delays.
	Held []Held
	// NextAt is when to decide again, even if nothing changes: at the end of the first
	// delay, or, if it is not after Input.Now, at once after the steps, with what the runtime
	// shows then. Zero: not before the pod or what the runtime shows of it has changed.
	NextAt time.Time
	// SandboxID is the sandbox in which the pod's containers are. Empty: there is none, or
	// another one takes its place.
	SandboxID string
	// Memory is what the next decision has to be given. It replaces the one of the input
	// before any step is done.
	Memory Memory
}
