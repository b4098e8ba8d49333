package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Op is the operation of a step.
type Op uint8

// The operations. An executor that meets one that it does not know, or the zero value,
// must stop there: the steps after it rely on it.
const (
	// StopPod stops all containers of the pod and then all its sandboxes, of every incarnation. It
	// removes containers that were created and never ran.
	StopPod Op = iota + 1
	// StopContainer stops the container with the ID. Consecutive steps of this kind may run at the
	// same time; the same holds for StopSandbox.
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
	// UpdateContainer gives the running container with the ID the amounts of Resource in the spec
	// Container. If the step fails, the executor skips the UpdateContainer steps after it and performs
	// the steps of other operations. It reports the result with Memory.RecordUpdate.
	UpdateContainer
)

var opNames = [...]string{"", "StopPod", "StopContainer", "RemoveContainer", "StopSandbox", "RemoveSandbox", "CreateSandbox", "StartContainer", "UpdateContainer"}

// String returns the name of the constant.
func (op Op) String() string {
	if int(op) < len(opNames) && op > 0 {
		return opNames[op]
	}
	return "unknown"
}

// Step is one operation on the runtime. Op decides which fields are set; the others are zero.
type Step struct {
	Op Op
	// Reason says why, for logs and people.
	Reason Why
	// Independent: the executor performs the later steps even if this one fails. Without it the
	// executor stops at a failure and decides again from new records.
	Independent bool
	// ID is the runtime's ID of the container or sandbox to stop or remove.
	ID string
	// Name is the name of the container.
	Name string
	// Grace, in seconds, replaces the grace period of the spec for this StopContainer. Nil does not
	// replace it. The grace period of a deletion has precedence: lifecycle.ContainerGrace has the order.
	Grace *int64
	// Container is the spec of the container to start or to update. It is shared with the pod.
	Container *v1.Container
	// Attempt is the attempt number of the new sandbox or container.
	Attempt uint32
	// SandboxID is the sandbox in which to start a container. Empty: the sandbox that the
	// CreateSandbox step of the same list creates.
	SandboxID string
	// Created has the IDs of earlier attempts at the container that were created and never ran. The
	// executor removes them before it creates another one, so that two never exist.
	Created []string
	// Reuse is the ID of a container in Created that has the sandbox and the spec of this step. The
	// executor may start that container, with the attempt of its record, instead of creating another.
	// Empty: no such container exists.
	Reuse string
	// Replaces: this StopContainer stops a regular container with restart policy OnFailure for its
	// next attempt. If the container then exits with 0, it has not finished: it must start again.
	// RecordAttempt records this.
	Replaces bool
	// Resource is cpu or memory: the resource that UpdateContainer changes. Decrease: its limit
	// decreases, or its request does and the limit stays.
	Resource v1.ResourceName
	Decrease bool

	inForce   v1.ResourceRequirements // the resources that the container has now
	podLimits v1.ResourceList         // of the pod as a whole
}

// Held is a step that waits until a time. Until then the executor does nothing for the step. A
// container with a held StopContainer keeps running.
type Held struct {
	Step
	Until time.Time
	// Delay is the length of the whole delay.
	Delay time.Duration
}

// Decision is the next work for a pod.
type Decision struct {
	// Steps has the steps in the order of execution. Empty: there is nothing to do.
	Steps []Step
	// Held has the delayed steps. First come replacements: a StopContainer or CreateSandbox step,
	// because the runtime reports another value than requested. Then come starts in a crash loop.
	Held []Held
	// NextAt is when to decide again even if nothing changes. If it is not after Input.Now, decide
	// right after the steps, with new records. Zero: only after a change of the pod or its records.
	NextAt time.Time
	// SandboxID is the sandbox of the pod's containers. Empty: the pod has none, or it is being
	// replaced.
	SandboxID string
	// Memory is the input of the next decision. It replaces the Memory of the input before any step
	// is performed.
	Memory Memory

	differences []runningDifference // the containers that RaisedPod counts
}
