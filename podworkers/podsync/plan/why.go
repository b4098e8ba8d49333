package plan

import "github.com/podkeel/podkeel/podmanager/podstatus"

// Why is the reason of a step, for logs and people.
type Why string

// StopsForNextAttempt reports whether the reason stops a running container so that its next attempt
// can start: a failed liveness or startup probe, a changed spec, or a resize that requires a restart.
func (w Why) StopsForNextAttempt() bool {
	return w == WhyLiveness || w == WhyStartup || w == WhySpecChanged || w == WhyResize
}

// The reasons to create a sandbox, and to kill what existed before it.
const (
	// WhyNoSandbox: this incarnation of the pod has no sandbox.
	WhyNoSandbox Why = "no sandbox"
	// WhySandboxNotReady: the newest sandbox is not ready, as after a reboot.
	WhySandboxNotReady Why = "sandbox is not ready"
	// WhySeveralSandboxes: a container may run in a ready sandbox that is not the current one.
	WhySeveralSandboxes Why = "several sandboxes are in use"
	// WhyNetworkMode: the sandbox has its own network and the spec asks for the host's network,
	// or the reverse.
	WhyNetworkMode Why = "network mode has changed"
	// WhyNoAddress: the sandbox has no address.
	WhyNoAddress Why = "sandbox has no address"
)

// messageOfSandboxReplacement returns the message of the condition PodReadyToStartContainers for a reason to
// replace the sandbox. It returns "" for any other reason.
func (w Why) messageOfSandboxReplacement() string {
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

// The reasons to kill a pod, other than its sandbox.
const (
	// WhyInitFailed: an init container failed and may not restart.
	WhyInitFailed Why = "init container failed for good"
	// WhyNothingToRun: no container runs and none will start.
	WhyNothingToRun Why = "nothing is left to run"
)

// The reasons to kill a container.
const (
	// WhySpecChanged: its SpecHash has changed; it starts again under every restart policy.
	WhySpecChanged Why = "name or image has changed"
	// WhyUnknownState: the runtime cannot tell whether it runs.
	WhyUnknownState Why = "state is unknown"
	// WhyOtherSandbox: it runs outside the current sandbox of the pod.
	WhyOtherSandbox Why = "runs in another sandbox"
	// WhyOlderAttempt: a newer attempt at the same container also runs.
	WhyOlderAttempt Why = "a newer attempt runs too"
	// WhyPreviousIncarnation: it belongs to a previous incarnation of the pod.
	WhyPreviousIncarnation Why = "belongs to a former pod of this UID"
	// WhyNotInSpec: the pod has no container of that name.
	WhyNotInSpec Why = "is not in the spec"
	// WhyLiveness: its liveness probe failed. It starts again unless its policy is Never. Under Never
	// a later decision applies the restart rules to its exit code.
	WhyLiveness Why = "liveness probe failed"
	// WhyStartup: its startup probe failed. The restart is the same as for WhyLiveness.
	WhyStartup Why = "startup probe failed"
	// WhyResize: its resources have changed. Its resize policy requires a restart, or it is updated
	// while it runs.
	WhyResize Why = "its resources have changed"
	// WhyRestartsAll: its exit triggered a restart of all containers.
	WhyRestartsAll Why = "its end restarts all containers"
	// WhyAllRestart: the exit of another container triggered a restart of all containers.
	WhyAllRestart Why = "all containers are restarted"
)

// The reasons to remove a record or a sandbox, or to stop a sandbox that the pod does not use.
const (
	// WhyUnused: the sandbox is ready, older than the current one and not needed.
	WhyUnused Why = "sandbox is unused"
	// WhyDuplicateSandbox: the sandbox is older than the current one and has no containers, because the
	// reply to its creation was lost.
	WhyDuplicateSandbox Why = "sandbox is a duplicate"
	// WhyFormerSandbox: the sandbox belongs to a previous incarnation, and its records are not needed.
	WhyFormerSandbox Why = "sandbox of a previous incarnation"
	// WhyOlderRecord: a newer attempt at the same init container has a record.
	WhyOlderRecord Why = "an older attempt"
)

// The reasons to start a container, other than a changed spec, an unknown state and a failed probe.
const (
	// WhyNotCreated: it has no record.
	WhyNotCreated Why = "has no record"
	// WhyNeverStarted: it was created and not started: a call failed, or its reply was lost.
	WhyNeverStarted Why = "was created but never ran"
	// WhyExited: it has exited, and its policy starts it again.
	WhyExited Why = "has exited"
	// WhyPreviousDone: the init container before it is done.
	WhyPreviousDone Why = "previous init container is done"
	// WhyNewSandbox: the pod gets a new sandbox, and all containers start.
	WhyNewSandbox Why = "sandbox is new"
)
