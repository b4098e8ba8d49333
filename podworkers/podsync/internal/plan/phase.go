package plan

import (
	v1 "k8s.io/api/core/v1"
)

// tally counts the containers of a pod by what they mean for its phase.
type tally struct {
	initPending, initFailed          int // initFailed: for good
	running, waiting                 int
	stopped, succeeded, willRunAgain int
}

// phase decides the phase from the container statuses alone.
func phase(s *v1.PodStatus, in *StatusInput) v1.PodPhase {
	var t tally
	t.countInit(s, in.Pod)
	t.countRegular(s, in.Pod)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0:
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
		status := find(s.InitContainerStatuses, c.Name)
		end := lastEnd(status)
		switch {
		case status.State.Running != nil || end == nil:
			t.initPending++
		case end.ExitCode != 0 && !mayRunAgain(pod, c, end):
			t.initFailed++
		}
	}
}

func (t *tally) countRegular(s *v1.PodStatus, pod *v1.Pod) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := find(s.ContainerStatuses, c.Name)
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
	if mayRunAgain(pod, c, end) {
		t.willRunAgain++
	}
}

// lastEnd is how a container that does not run ended last. Nil: it never ran.
func lastEnd(status *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}
