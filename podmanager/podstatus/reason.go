package podstatus

// Reason is one word that says why a container waits, or how it has ended: the field
// Reason of a container's state. As an error it is why a sync could not go on; compare
// with errors.Is.
type Reason string

// Error implements error.
func (r Reason) Error() string { return "podsync: " + string(r) }

// Why a sync could not go on, besides for a container that waits.
const (
	// ReasonKillContainerError: a container could not be stopped.
	ReasonKillContainerError Reason = "KillContainerError"
	// ReasonKillPodSandboxError: the sandbox could not be stopped.
	ReasonKillPodSandboxError Reason = "KillPodSandboxError"
	// ReasonCreatePodSandboxError: the runtime did not create the sandbox.
	ReasonCreatePodSandboxError Reason = "CreatePodSandboxError"
)

// How a container has ended. Runtimes have other words too.
const (
	// ReasonCompleted: with exit code 0.
	ReasonCompleted Reason = "Completed"
	// ReasonError: with another exit code.
	ReasonError Reason = "Error"
	// ReasonContainerStatusUnknown: the runtime cannot tell, or has no record of it any more.
	ReasonContainerStatusUnknown Reason = "ContainerStatusUnknown"
	// ReasonContainerCannotRun: its command was never run.
	ReasonContainerCannotRun Reason = "ContainerCannotRun"
)
