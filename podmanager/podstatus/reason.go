package podstatus

// Reason is the field Reason of a container's state: why the container waits, or how it has
// terminated. As an error it says why a sync has failed; compare it with errors.Is.
type Reason string

// Error implements error.
func (r Reason) Error() string { return "podsync: " + string(r) }

// The reasons of a failed sync, other than a waiting container.
const (
	// ReasonKillContainerError: the runtime could not stop a container.
	ReasonKillContainerError Reason = "KillContainerError"
	// ReasonKillPodSandboxError: the runtime could not stop the sandbox.
	ReasonKillPodSandboxError Reason = "KillPodSandboxError"
	// ReasonCreatePodSandboxError: the runtime did not create the sandbox.
	ReasonCreatePodSandboxError Reason = "CreatePodSandboxError"
)

// The reasons of a terminated container. Runtimes use others too.
const (
	// ReasonCompleted: the container has exited with 0.
	ReasonCompleted Reason = "Completed"
	// ReasonError: the container has exited with another code.
	ReasonError Reason = "Error"
	// ReasonContainerStatusUnknown: the runtime does not report the exit, or has lost the record.
	ReasonContainerStatusUnknown Reason = "ContainerStatusUnknown"
	// ReasonContainerCannotRun: the command of the container could not be run.
	ReasonContainerCannotRun Reason = "ContainerCannotRun"
)
