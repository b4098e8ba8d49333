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

// decidePhase returns the phase by the container statuses. A sidecar that restarts does not make an
// initialized pod Pending.
func (in *conclusion) decidePhase(s *v1.PodStatus) v1.PodPhase {
	var t containerCounts
	in.countInit(&t, s)
	in.countRegular(&t, s)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0, t.sidecarPending > 0 && !in.isInitialized(s):
		return v1.PodPending
	case in.isInitializing():
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

// isInitialized reports whether the pod was initialized in its sandbox.
func (in *conclusion) isInitialized(s *v1.PodStatus) bool {
	if in.Initialized != nil {
		return *in.Initialized
	}
	return AnyHasRun(s.ContainerStatuses)
}

// isInitializing reports whether init containers of the pod still have to run in its current
// sandbox.
func (in *conclusion) isInitializing() bool {
	return in.Initialized != nil && !*in.Initialized && len(in.pod.Spec.InitContainers) > 0 && !in.Terminated
}

// finishedPhase returns the phase of a pod whose containers have all run and none runs. If forGood,
// none restarts.
func (t *containerCounts) finishedPhase(forGood bool) v1.PodPhase {
	switch {
	case !forGood && t.willRunAgain > 0:
		return v1.PodRunning
	case t.stopped == t.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// countInit counts the init containers.
func (in *conclusion) countInit(t *containerCounts, s *v1.PodStatus) {
	statuses := podspec.StatusIndex(s.InitContainerStatuses)
	for i := range in.pod.Spec.InitContainers {
		c := &in.pod.Spec.InitContainers[i]
		status := statuses.Find(c.Name, i)
		if podspec.IsSidecar(c) {
			t.countSidecar(status, in.isInOlderSandbox(c.Name))
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
		case end.ExitCode != 0 && !MayRestartAfter(in.pod, c, end) && !in.isRestarting(c.Name):
			t.initFailed++
		}
	}
}

// countSidecar counts a sidecar that runs or never ran. A terminated sidecar does not affect the
// phase.
func (t *containerCounts) countSidecar(status *v1.ContainerStatus, outdated bool) {
	switch {
	case status == nil:
		t.unknown++
	case status.State.Running != nil && outdated:
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

// countRegular counts the regular containers.
func (in *conclusion) countRegular(t *containerCounts, s *v1.PodStatus) {
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
			in.countTerminated(t, c, status, end)
		}
	}
}

// countTerminated counts a regular container that has terminated.
func (in *conclusion) countTerminated(t *containerCounts, c *v1.Container, status *v1.ContainerStatus, end *v1.ContainerStateTerminated) {
	t.stopped++
	if status.State.Terminated != nil && end.ExitCode == 0 {
		t.succeeded++
	}
	if MayRestartAfter(in.pod, c, end) || hasNextAttemptCreated(status, end) || in.isRestarting(c.Name) {
		t.willRunAgain++
	}
}

// isRestarting reports whether Observed.Restarting has a container.
func (in *conclusion) isRestarting(name string) bool { return in.restarting.Find(name, 0) != nil }

// isInOlderSandbox reports whether Observed.Outdated has a container.
func (in *conclusion) isInOlderSandbox(name string) bool { return in.outdated.Find(name, 0) != nil }

// hasNextAttemptCreated reports whether the next attempt at a terminated container exists. It will
// start, whatever the restart policy is: the container may have been stopped for it.
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
