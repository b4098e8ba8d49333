package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/conditions"
)

// tally counts the containers of a pod by what they mean for its phase.
type tally struct {
	initPending, initFailed          int // initFailed: for good
	sidecarPending                   int
	unknown, running, waiting        int
	stopped, succeeded, willRunAgain int
}

// phase decides the phase from the container statuses alone. A sidecar that
// starts again holds nothing up once the pod was initialized (PH-8).
func phase(s *v1.PodStatus, in *StatusInput) v1.PodPhase {
	var t tally
	t.countInit(s, in.Pod)
	t.countRegular(s, in.Pod)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0, t.sidecarPending > 0 && !conditions.AnyRan(s.ContainerStatuses):
		return v1.PodPending
	case t.unknown > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped > 0:
		return t.ended(in.Terminal && !in.Static)
	}
	return v1.PodPending
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

func (t *tally) countInit(s *v1.PodStatus, pod *v1.Pod) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		status := findAt(s.InitContainerStatuses, c.Name, i)
		if isSidecar(c) {
			t.countSidecar(status)
			continue
		}
		if status == nil {
			t.initPending++
			continue
		}
		end := lastEnd(status)
		switch {
		case status.State.Running != nil || end == nil:
			t.initPending++
		case end.ExitCode != 0 && !mayRunAgain(pod, c, end):
			t.initFailed++
		}
	}
}

// countSidecar counts one that is on or was never on. One that has ended means
// nothing for the phase. (PH-3)
func (t *tally) countSidecar(status *v1.ContainerStatus) {
	switch {
	case status == nil:
		t.unknown++
	case status.State.Running != nil:
		t.running++
		if status.Started == nil || !*status.Started {
			t.sidecarPending++
		}
	case lastEnd(status) == nil:
		t.sidecarPending++
	}
}

func (t *tally) countRegular(s *v1.PodStatus, pod *v1.Pod) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := findAt(s.ContainerStatuses, c.Name, i)
		if status == nil {
			t.unknown++
			continue
		}
		end := lastEnd(status)
		switch {
		case status.State.Running != nil:
			t.running++
		case end == nil:
			t.waiting++
		default:
			t.countStopped(status, pod, c, end)
		}
	}
}

func (t *tally) countStopped(status *v1.ContainerStatus, pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) {
	t.stopped++
	if status.State.Terminated != nil && end.ExitCode == 0 {
		t.succeeded++
	}
	if mayRunAgain(pod, c, end) || isMade(status, end) {
		t.willRunAgain++
	}
}

// isMade reports whether the next attempt at a container that ended has a record:
// it was decided to start that, so it is started, whatever the policy says of the
// end, which may have been brought about for its sake.
func isMade(status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	return status.State.Waiting != nil && status.ContainerID != "" && status.ContainerID != end.ContainerID
}

// lastEnd is how a container that does not run ended last. Nil: it never ran.
func lastEnd(status *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}
