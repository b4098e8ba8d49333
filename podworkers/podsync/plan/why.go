package plan

import "github.com/podkeel/podkeel/podmanager/podstatus"

// Why is the reason of an action, as logs and people read it.
type Why string

// Replaces reports whether a container is killed so that the next attempt at it can
// be made, if its policy allows that.
func (w Why) Replaces() bool { return w == WhyLiveness || w == WhyStartup || w == WhySpecChanged }

// Why a sandbox is made, and why what was there before it is killed.
const (
	// WhyNoSandbox: this incarnation of the pod has none.
	WhyNoSandbox Why = "no sandbox"
	// WhySandboxNotReady: the newest is not ready, as after a reboot.
	WhySandboxNotReady Why = "sandbox is not ready"
	// WhySeveralSandboxes: more than one is ready and has containers.
	WhySeveralSandboxes Why = "several sandboxes are in use"
	// WhyNetworkMode: the spec asks for the host's network and it is not on it,
	// or the other way round.
	WhyNetworkMode Why = "network mode has changed"
	// WhyNoAddress: it has lost its address, or never got one.
	WhyNoAddress Why = "sandbox has no address"
)

// conditionMessage returns the message of PodReadyToStartContainers for a reason why a
// sandbox is needed. It returns the empty string for any other reason.
func (w Why) conditionMessage() string {
	switch w {
	case WhyNoSandbox:
		return podstatus.MessageNoSandbox
	case WhySandboxNotReady:
		return podstatus.MessageSandboxNotReady
	case WhySeveralSandboxes:
		return podstatus.MessageSeveralSandboxes
	case WhyNetworkMode:
		return podstatus.MessageNetworkModeChanged
	case WhyNoAddress:
		return podstatus.MessageSandboxNoAddress
	}
	return ""
}

// Why a pod is killed, besides for its sandbox.
const (
	// WhyInitFailed: an init container failed that may not run again.
	WhyInitFailed Why = "init container failed for good"
	// WhyNothingToRun: no container runs, and none is to be started.
	WhyNothingToRun Why = "nothing is left to run"
)

// Why a container is killed.
const (
	// WhySpecChanged: its SpecHash has; it is started again.
	WhySpecChanged Why = "name or image has changed"
	// WhyUnknownState: the runtime cannot tell whether it runs.
	WhyUnknownState Why = "state is unknown"
	// WhyOtherSandbox: it is not in the pod's current sandbox.
	WhyOtherSandbox Why = "runs in another sandbox"
	// WhyOlderAttempt: a newer attempt at the same container runs too.
	WhyOlderAttempt Why = "a newer attempt runs too"
	// WhyPreviousIncarnation: its incarnation is over.
	WhyPreviousIncarnation Why = "belongs to a former pod of this UID"
	// WhyNotInSpec: the pod has no container of that name.
	WhyNotInSpec Why = "is not in the spec"
	// WhyLiveness: it is started again, unless its policy is Never.
	WhyLiveness Why = "liveness probe failed"
	// WhyStartup: it has not started in time; as for liveness.
	WhyStartup Why = "startup probe failed"
	// WhyRestartsAll: it has ended, and by its rules all containers restart.
	WhyRestartsAll Why = "its end restarts all containers"
	// WhyAllRestart: another one has ended with that effect.
	WhyAllRestart Why = "all containers are restarted"
)

// Why a sandbox or a record is removed, or stopped alone.
const (
	// WhyUnused: it is ready, older than the pod's and of no use.
	WhyUnused Why = "nobody uses it"
	// WhyCameLate: the reply to the call that made it was lost, and another one was made.
	WhyCameLate Why = "came late"
	// WhyFormerSandbox: its incarnation is over, and its records are not needed.
	WhyFormerSandbox Why = "a former life"
	// WhyOlderRecord: a newer attempt at the same init container has a record.
	WhyOlderRecord Why = "an older attempt"
)

// Why a container is started, besides for a change of its spec, for an unknown
// state and for a probe.
const (
	// WhyNotCreated: it has not been there before.
	WhyNotCreated Why = "has no record"
	// WhyNeverStarted: its creation or its start failed, or the reply was lost.
	WhyNeverStarted Why = "was created but never ran"
	// WhyExited: it has ended, and its policy runs it again.
	WhyExited Why = "has exited"
	// WhyPreviousDone: it is its turn among the init containers.
	WhyPreviousDone Why = "previous init container is done"
	// WhyNewSandbox: all containers restart.
	WhyNewSandbox Why = "sandbox is new"
)
