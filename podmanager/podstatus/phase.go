package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// tally counts the containers of a pod by what they mean for its phase.
type tally struct {
	initPending, initFailed          int // initFailed: for good
	sidecarPending                   int
	unknown, running, waiting        int
	stopped, succeeded, willRunAgain int
}

// phase decides the phase from the container statuses. A sidecar that starts again does
// not keep a pod Pending that was initialized in its sandbox.
func (in *conclusion) phase(s *v1.PodStatus) v1.PodPhase {
	var t tally
	in.countInit(&t, s)
	in.countRegular(&t, s)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0, t.sidecarPending > 0 && !in.isInitialized(s):
		return v1.PodPending
	case in.isInitializing():
		// An init container that has failed and restarts, or a sidecar that has ended, is
		// not pending by its status. What ran in a sandbox before does not make the pod Running.
		return v1.PodPending
	case t.unknown > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped > 0:
		return t.ended(in.Terminated && !in.Static)
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

// isInitializing reports whether the init containers of the pod are still to do their part
// in the sandbox that it has now.
func (in *conclusion) isInitializing() bool {
	return in.Initialized != nil && !*in.Initialized && len(in.pod.Spec.InitContainers) > 0 && !in.Terminated
}

// ended is the phase of a pod of which every container has run and none runs.
func (t *tally) ended(forGood bool) v1.PodPhase {
	switch {
	case !forGood && t.willRunAgain > 0:
		return v1.PodRunning
	case t.stopped == t.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

func (in *conclusion) countInit(t *tally, s *v1.PodStatus) {
	statuses := podspec.StatusIndex(s.InitContainerStatuses)
	for i := range in.pod.Spec.InitContainers {
		c := &in.pod.Spec.InitContainers[i]
		status := statuses.Find(c.Name, i)
		if podspec.IsSidecar(c) {
			t.countSidecar(status, in.isOutdated(c.Name))
			continue
		}
		if status == nil || in.isOutdated(c.Name) {
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

// countSidecar counts one that is on or was never on. One that has ended means nothing
// for the phase.
func (t *tally) countSidecar(status *v1.ContainerStatus, outdated bool) {
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

func (in *conclusion) countRegular(t *tally, s *v1.PodStatus) {
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
		case status.State.Running != nil && in.isOutdated(c.Name), status.State.Running == nil && end == nil:
			t.waiting++
		case status.State.Running != nil:
			t.running++
		default:
			in.countStopped(t, c, status, end)
		}
	}
}

// countStopped counts a regular container that has ended.
func (in *conclusion) countStopped(t *tally, c *v1.Container, status *v1.ContainerStatus, end *v1.ContainerStateTerminated) {
	t.stopped++
	if status.State.Terminated != nil && end.ExitCode == 0 {
		t.succeeded++
	}
	if MayRestartAfter(in.pod, c, end) || isCreated(status, end) || in.isRestarting(c.Name) {
		t.willRunAgain++
	}
}

func (in *conclusion) isRestarting(name string) bool { return in.restarting.Find(name, 0) != nil }

func (in *conclusion) isOutdated(name string) bool { return in.outdated.Find(name, 0) != nil }

// isCreated reports whether the next attempt at a container that ended has been created:
// it was decided to start that, so it is started, whatever the policy says of the end,
// which may have been brought about for its sake.
func isCreated(status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	return status.State.Waiting != nil && status.ContainerID != "" && status.ContainerID != end.ContainerID
}

// LastTermination is how a container that does not run ended last, by its status, or nil if it
// has not run: its current end, or the one before it waited.
func LastTermination(status *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}
