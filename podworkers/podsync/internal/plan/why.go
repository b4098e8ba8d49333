package plan

// Why is the reason of an action, as logs and people read it.
type Why string

// Why a sandbox is replaced or made.
const (
	WhyNoSandbox        Why = "no sandbox"
	WhySandboxNotReady  Why = "sandbox is not ready"
	WhySeveralSandboxes Why = "several sandboxes are in use"
	WhyNetworkMode      Why = "network mode has changed"
	WhyNoAddress        Why = "sandbox has no address"
)

// Why a pod is killed, besides for its sandbox.
const (
	WhyInitFailed   Why = "init container failed for good"
	WhyNothingToRun Why = "nothing is left to run"
)

// Why a container is killed.
const (
	WhySpecChanged  Why = "name or image has changed"
	WhyUnknownState Why = "state is unknown"
	WhyOtherSandbox Why = "runs in another sandbox"
	WhyFormerLife   Why = "belongs to a former pod of this UID"
	WhyNotInSpec    Why = "is not in the spec"
)

// Why a container is started, besides for a change of its spec.
const (
	WhyNotCreated   Why = "has no record"
	WhyNeverStarted Why = "was created but never ran"
	WhyExited       Why = "has exited"
	WhyPreviousDone Why = "previous init container is done"
	WhyNewSandbox   Why = "sandbox is new"
)
