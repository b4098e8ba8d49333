package reasons

// Reason is one word that says why a container waits, or how it has ended: the field
// Reason of a container's state. As an error it is why a sync could not go on; compare
// with errors.Is.
type Reason string

// Error implements error.
func (r Reason) Error() string { return "podsync: " + string(r) }

// Why a sync could not go on, besides for a container that waits.
const (
	// KillContainerError: a container could not be stopped.
	KillContainerError Reason = "KillContainerError"
	// KillPodSandboxError: the sandbox could not be stopped.
	KillPodSandboxError Reason = "KillPodSandboxError"
	// CreatePodSandboxError: the runtime did not create the sandbox.
	CreatePodSandboxError Reason = "CreatePodSandboxError"
)

// How a container has ended. Runtimes have other words too.
const (
	// Completed: with exit code 0.
	Completed Reason = "Completed"
	// Error: with another exit code.
	Error Reason = "Error"
	// ContainerStatusUnknown: the runtime cannot tell, or has no record of it any more.
	ContainerStatusUnknown Reason = "ContainerStatusUnknown"
	// ContainerCannotRun: its command was never run.
	ContainerCannotRun Reason = "ContainerCannotRun"
)
