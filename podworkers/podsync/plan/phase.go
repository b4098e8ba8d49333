package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/podstatus"
)

// tally counts the containers of a pod by what they mean for its phase.
type tally struct {
	in *StatusInput
	// x has the records if some of them are not in the current sandbox of the pod.
	// Nil: all are, or there is no sandbox.
	x *sightings
	// reached is the last place of the spec that has a record in the current
	// sandbox, or -1; of all containers before it initialization is past.
	reached                          int
	initPending, initFailed          int // initFailed: for good
	sidecarPending                   int
	unknown, running, waiting        int
	stopped, succeeded, willRunAgain int
}

// phase decides the phase from the container statuses, and from the records that
// tell in which sandbox a container is. A sidecar that starts again holds nothing
// up once the pod was initialized in its sandbox (PH-8).
func phase(s *v1.PodStatus, in *StatusInput) v1.PodPhase {
	t := tally{in: in}
	t.locate()
	t.countInit(s, in.Pod)
	t.countRegular(s, in.Pod)
	switch {
	case t.initFailed > 0:
		return v1.PodFailed
	case t.initPending > 0, t.waiting > 0, t.sidecarPending > 0 && !t.initialized(s):
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

// scattered reports whether a record of this incarnation is not in the current
// sandbox.
func (in *StatusInput) scattered() bool {
	for i := range in.Runtime.Containers {
		c := &in.Runtime.Containers[i]
		if c.Incarnation == in.Incarnation && c.SandboxID != in.place.current.ID {
			return true
		}
	}
	return false
}

// locate finds out how far the containers are in the current sandbox.
func (t *tally) locate() {
	if t.in.place.current == nil || !t.in.scattered() {
		return
	}
	t.x, t.reached = new(sightings), -1
	t.x.read(t.in)
	for i := range t.x.ephemeral {
		if t.here(i) {
			t.reached = i
		}
	}
	if t.in.Initialized == t.in.place.current.ID {
		t.reached = max(t.reached, t.x.regular)
	}
}

// here reports whether the container at a place of the spec is, by its record,
// in the current sandbox.
func (t *tally) here(place int) bool {
	is, _ := t.x.at(place)
	return is != nil && is.SandboxID == t.in.place.current.ID
}

// initialized reports whether the pod was initialized in its current sandbox:
// what ran in an older one does not count.
func (t *tally) initialized(s *v1.PodStatus) bool {
	if t.x == nil {
		return podstatus.AnyHasRun(s.ContainerStatuses)
	}
	return t.reached >= t.x.regular
}

// ahead reports whether the container at a place of the spec has to run in the
// current sandbox before the pod is initialized there, and has not.
func (t *tally) ahead(place int) bool {
	return t.x != nil && t.in.place.replace == "" && place > t.reached
}

// elsewhere reports whether the container at a place of the spec is, by its
// record, in an older sandbox than the current one, which is fit to be used.
func (t *tally) elsewhere(place int) bool {
	return t.x != nil && t.in.place.replace == "" && !t.here(place)
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
			t.countSidecar(status, t.elsewhere(i))
			continue
		}
		if status == nil || t.ahead(i) {
			t.initPending++
			continue
		}
		end := lastEnd(status)
		switch {
		case status.State.Running != nil || end == nil:
			t.initPending++
		case end.ExitCode != 0 && !mayRunAgain(pod, c, end) && !t.interrupted(c, end):
			t.initFailed++
		}
	}
}

// countSidecar counts one that is on or was never on. One that has ended means
// nothing for the phase. (PH-3)
func (t *tally) countSidecar(status *v1.ContainerStatus, elsewhere bool) {
	switch {
	case status == nil:
		t.unknown++
	case status.State.Running != nil && elsewhere:
		t.sidecarPending++
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
		case status.State.Running != nil && t.elsewhere(len(pod.Spec.InitContainers)+i), status.State.Running == nil && end == nil:
			t.waiting++
		case status.State.Running != nil:
			t.running++
		default:
			t.countStopped(status, i, end)
		}
	}
}

// countStopped counts the i-th regular container, which has ended.
func (t *tally) countStopped(status *v1.ContainerStatus, i int, end *v1.ContainerStateTerminated) {
	pod, c := t.in.Pod, &t.in.Pod.Spec.Containers[i]
	t.stopped++
	if status.State.Terminated != nil && end.ExitCode == 0 {
		t.succeeded++
	}
	if mayRunAgain(pod, c, end) || isMade(status, end) || t.in.isStarting(status) || t.isReplaced(c, end) ||
		t.startsAnew(len(pod.Spec.InitContainers)+i, c, end) {
		t.willRunAgain++
	}
}

// isStarting reports whether a container that does not run, and waits, is being
// started: it was ended for that.
func (in *StatusInput) isStarting(status *v1.ContainerStatus) bool {
	if status.State.Waiting == nil {
		return false
	}
	return slices.ContainsFunc(in.Starting, func(s Start) bool { return s.Container.Name == status.Name })
}

// interrupted reports whether an ordinary init container that has failed is started
// in a new sandbox, because it may have ended with the one that was lost. One that fails
// in a sandbox that is there has failed at once.
func (t *tally) interrupted(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return t.in.place.replace != "" && !t.in.isEnding() && mayStartAnew(t.in.Pod, c, end.ExitCode)
}

// startsAnew reports whether a regular container that has failed, at a place of the
// spec, is started in the sandbox that took the place of the one it ran in.
func (t *tally) startsAnew(place int, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.ExitCode != 0 && t.elsewhere(place) && !t.in.isEnding() && mayStartAnew(t.in.Pod, c, end.ExitCode)
}

// isReplaced reports whether a container was told to end for the sake of the next
// attempt, which its policy makes.
func (t *tally) isReplaced(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return !t.in.isEnding() && t.in.Replaced.Is(c.Name, end.ContainerID) && mayRestart(t.in.Pod, c, exitUnknown)
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
