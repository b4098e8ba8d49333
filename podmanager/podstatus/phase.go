package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// containerCounts counts the containers of a pod by their effect on the phase.
type containerCounts struct {
	initPending, initFailed          int // initFailed counts only those that may not restart
	sidecarPending                   int
	unknown, running, waiting        int
	stopped, succeeded, willRunAgain int
}

// decidePhase returns the phase that follows from the container statuses: Failed, Pending, Running or
// Succeeded. A sidecar that is not started makes the pod Pending only while the pod's init containers have not
// finished.
func (in *conclusion) decidePhase(s *v1.PodStatus) v1.PodPhase {
	var t containerCounts
	in.countInitContainers(&t, s)
	in.countRegularContainers(&t, s)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0, t.sidecarPending > 0 && !in.isInitialized(s):
		return v1.PodPending
	case in.isObservedInitializing():
		// A failed init container that restarts, or a terminated sidecar, is not counted as pending.
		// A container that ran in an earlier sandbox does not make the pod Running.
		return v1.PodPending
	case t.unknown > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped > 0:
		return t.finishedPhase(in.Terminated && !in.Static)
	}
	return v1.PodPending
}

// isInitialized reports whether all init containers of the pod have finished in its current sandbox. If that
// was not observed, it reports whether a regular container has run.
func (in *conclusion) isInitialized(s *v1.PodStatus) bool {
	if in.Initialized != nil {
		return *in.Initialized
	}
	return AnyHasRun(s.ContainerStatuses)
}

// isObservedInitializing reports whether the pod was observed to have init containers that must still run in
// its current sandbox. It returns false for a terminated pod and for a pod without such an observation.
func (in *conclusion) isObservedInitializing() bool {
	return in.Initialized != nil && !*in.Initialized && len(in.pod.Spec.InitContainers) > 0 && !in.Terminated
}

// finishedPhase returns the phase of a pod whose regular containers have all exited. The phase is Running if
// one container will run again; with noneRestarts this case is skipped. In all other cases it is Succeeded if
// all have exited with 0, and Failed if one has not.
func (t *containerCounts) finishedPhase(noneRestarts bool) v1.PodPhase {
	switch {
	case !noneRestarts && t.willRunAgain > 0:
		return v1.PodRunning
	case t.stopped == t.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// countInitContainers counts each init container in t as pending or failed, or as neither if it has succeeded
// or will restart after a failure. An init container that ran in an older sandbox is pending. It counts
// sidecars with countSidecarUnlessTerminated.
func (in *conclusion) countInitContainers(t *containerCounts, s *v1.PodStatus) {
	statuses := podspec.StatusIndex(s.InitContainerStatuses)
	for i := range in.pod.Spec.InitContainers {
		c := &in.pod.Spec.InitContainers[i]
		status := statuses.Find(c.Name, i)
		if podspec.IsSidecar(c) {
			t.countSidecarUnlessTerminated(status, in.isInOlderSandbox(c.Name))
			continue
		}
		if status == nil || in.isInOlderSandbox(c.Name) {
			t.initPending++
			continue
		}
		end := LastTermination(status)
		switch {
		case status.State.Running != nil || end == nil:
			t.initPending++
		case end.ExitCode != 0 && !MayRestartAfter(in.pod, c, end) && !in.isRestartingRegardlessOfPolicy(c.Name):
			t.initFailed++
		}
	}
}

// countSidecarUnlessTerminated counts a sidecar. Without a status it counts as unknown. A sidecar that runs in
// the current sandbox counts as running; it also counts as pending until its status says Started. A sidecar
// that runs in an older sandbox, or has never run, counts as pending. A terminated sidecar is not counted,
// because it does not affect the phase.
func (t *containerCounts) countSidecarUnlessTerminated(status *v1.ContainerStatus, isInOlderSandbox bool) {
	switch {
	case status == nil:
		t.unknown++
	case status.State.Running != nil && isInOlderSandbox:
		t.sidecarPending++
	case status.State.Running != nil:
		t.running++
		if !isTrue(status.Started) {
			t.sidecarPending++
		}
	case LastTermination(status) == nil:
		t.sidecarPending++
	}
}

// countRegularContainers counts each regular container in t as unknown, waiting, running or stopped. A
// container that runs in an older sandbox counts as waiting.
func (in *conclusion) countRegularContainers(t *containerCounts, s *v1.PodStatus) {
	statuses := podspec.StatusIndex(s.ContainerStatuses)
	for i := range in.pod.Spec.Containers {
		c := &in.pod.Spec.Containers[i]
		status := statuses.Find(c.Name, i)
		if status == nil {
			t.unknown++
			continue
		}
		end := LastTermination(status)
		switch {
		case status.State.Running != nil && in.isInOlderSandbox(c.Name), status.State.Running == nil && end == nil:
			t.waiting++
		case status.State.Running != nil:
			t.running++
		default:
			in.countTerminatedContainer(t, c, status, end)
		}
	}
}

// countTerminatedContainer counts a terminated regular container in t as stopped. It also counts the container
// as succeeded if its exit code is 0 and it does not wait for its next start. It also counts the container as
// one that will run again if its policy allows a restart, if its next attempt exists, or if it is being
// restarted.
func (in *conclusion) countTerminatedContainer(t *containerCounts, c *v1.Container, status *v1.ContainerStatus, end *v1.ContainerStateTerminated) {
	t.stopped++
	if status.State.Terminated != nil && end.ExitCode == 0 {
		t.succeeded++
	}
	if MayRestartAfter(in.pod, c, end) || hasNextAttemptCreated(status, end) || in.isRestartingRegardlessOfPolicy(c.Name) {
		t.willRunAgain++
	}
}

// isRestartingRegardlessOfPolicy reports whether Observed.Restarting has the container. It does not ask the
// restart policy.
func (in *conclusion) isRestartingRegardlessOfPolicy(name string) bool {
	return in.restarting.Find(name, 0) != nil
}

// isInOlderSandbox reports whether Observed.Outdated has the container. The status of those containers is from
// an older sandbox.
func (in *conclusion) isInOlderSandbox(name string) bool { return in.outdated.Find(name, 0) != nil }

// hasNextAttemptCreated reports whether the next attempt of a terminated container was created and has not
// started. It will start whatever the restart policy is, because the container may have been stopped for it.
func hasNextAttemptCreated(status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	return status.State.Waiting != nil && status.ContainerID != "" && status.ContainerID != end.ContainerID
}

// LastTermination returns the last termination of a container that does not run: the current one,
// or the one before it waited; nil if it has not run.
func LastTermination(status *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}
