package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// observed is what the records tell of a pod beyond the statuses of its containers.
func (in *StatusInput) observed(s *v1.PodStatus) podstatus.Observed {
	o := podstatus.Observed{
		SandboxReady: in.place.replace == "", SandboxMessage: in.place.replace.conditionMessage(),
		SandboxLost: in.place.replace != "" && !in.isEnding() && sandboxLost(in),
		Ending:      in.Ending, Terminated: in.Terminal, Static: in.Static,
		RestartingAll: in.anew,
	}
	if in.given {
		o.Previous = in.Old
	}
	w := whereabouts{in: in}
	w.locate()
	if w.x != nil && !in.anew {
		o.Initialized = new(w.isInitialized(s))
	}
	if w.scattered {
		o.Outdated = w.outdated()
	}
	o.Restarting = w.restarting(s)
	return o
}

// whereabouts tells in which sandbox the containers of a pod are.
type whereabouts struct {
	in *StatusInput
	// x has the records. Nil: the pod has no sandbox, or nothing depends on which of the
	// records are in it.
	x *containerRecords
	// scattered says that some of the records are not in the current sandbox.
	scattered bool
	// reached is the last place of the spec that has a record in the current
	// sandbox, or -1; of all containers before it initialization is past.
	reached int
}

// isScattered reports whether a record of this incarnation is not in the current
// sandbox.
func (in *StatusInput) isScattered() bool {
	for i := range in.Runtime.Containers {
		c := &in.Runtime.Containers[i]
		if c.Incarnation == in.Incarnation && c.SandboxID != in.place.current.ID {
			return true
		}
	}
	return false
}

// locate finds out how far the containers are in the current sandbox.
func (w *whereabouts) locate() {
	if w.in.place.current == nil {
		return
	}
	initialized := w.in.Memory.Initialized == w.in.place.current.ID
	if w.scattered = w.in.isScattered(); !w.scattered && (initialized || len(w.in.Pod.Spec.InitContainers) == 0) {
		return
	}
	w.x, w.reached = new(containerRecords), -1
	w.x.read(w.in)
	for i := range w.x.ephemeral {
		if w.here(i) {
			w.reached = i
		}
	}
	if initialized {
		w.reached = max(w.reached, w.x.regular)
	}
}

// isInitialized reports whether the pod is initialized in its current sandbox, as
// initialize decides it: it is remembered, a regular container has a record there, or the
// last init container has done its part there.
func (w *whereabouts) isInitialized(s *v1.PodStatus) bool {
	last := w.x.regular - 1
	if w.reached != last {
		return w.reached > last
	}
	if last < 0 {
		return false
	}
	c := &w.in.Pod.Spec.InitContainers[last]
	is, _ := w.x.at(last)
	if !podspec.IsSidecar(c) {
		return is.State == runtime.StateExited && is.ExitCode == 0
	}
	inits := podspec.StatusIndex(s.InitContainerStatuses)
	status := inits.Find(c.Name, last)
	return is.State == runtime.StateRunning && status != nil && status.Started != nil && *status.Started
}

// here reports whether the container at a place of the spec is, by its record,
// in the current sandbox.
func (w *whereabouts) here(place int) bool {
	is, _ := w.x.at(place)
	return is != nil && is.SandboxID == w.in.place.current.ID
}

// isInOlderSandbox reports whether the record of the container at a place of the spec is in an older sandbox
// than the current one, and the current one is kept.
func (w *whereabouts) isInOlderSandbox(place int) bool {
	return w.scattered && w.in.place.replace == "" && !w.here(place)
}

// outdated returns the names of the containers in an older sandbox, and of the ordinary init containers that
// have still to run in the current one.
func (w *whereabouts) outdated() []string {
	var names []string
	spec := &w.in.Pod.Spec
	for i := range w.x.ephemeral {
		behind := w.isInOlderSandbox(i)
		if i < w.x.regular && !podspec.IsSidecar(&spec.InitContainers[i]) {
			behind = w.in.place.replace == "" && i > w.reached
		}
		if behind {
			names = append(names, containerAt(spec, i).Name)
		}
	}
	return names
}

// restarting are the names of containers that have ended and are started again whatever
// their policy says of how they ended.
func (w *whereabouts) restarting(s *v1.PodStatus) []string {
	in := w.in
	if !w.scattered && in.place.replace == "" && len(in.Starting) == 0 && in.Memory.pasts.noneReplaced() {
		return nil
	}
	var names []string
	spec := &in.Pod.Spec
	inits, regular := podspec.StatusIndex(s.InitContainerStatuses), podspec.StatusIndex(s.ContainerStatuses)
	for i := range len(spec.InitContainers) + len(spec.Containers) {
		c, list, at := containerAt(spec, i), &inits, i
		if at >= len(spec.InitContainers) {
			list, at = &regular, at-len(spec.InitContainers)
		}
		status := list.Find(c.Name, at)
		if status == nil || status.State.Running != nil {
			continue
		}
		if end := podstatus.LastTermination(status); end != nil && w.goesOn(i, c, status, end) {
			names = append(names, c.Name)
		}
	}
	return names
}

// goesOn reports whether the container at a place of the spec, which has ended, is started
// again whatever its policy says of that.
func (w *whereabouts) goesOn(place int, c *v1.Container, status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	if place < len(w.in.Pod.Spec.InitContainers) {
		return w.interrupted(c, end)
	}
	return w.in.isStarting(status) || w.isReplaced(c, end) || w.startsAnew(place, c, end)
}

// isStarting reports whether a container that does not run, and waits, is being
// started: it was ended for that.
func (in *StatusInput) isStarting(status *v1.ContainerStatus) bool {
	if status.State.Waiting == nil {
		return false
	}
	return in.starting.Find(status.Name, 0) != nil
}

// interrupted reports whether an ordinary init container that has failed is started
// in a new sandbox, because it may have ended with the one that was lost. One that fails
// in a sandbox that is there has failed at once.
func (w *whereabouts) interrupted(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return w.in.place.replace != "" && !w.in.isEnding() && podstatus.MayRestartInNewSandbox(w.in.Pod, c, end.ExitCode)
}

// startsAnew reports whether a regular container that has failed, at a place of the
// spec, is started in the sandbox that took the place of the one it ran in.
func (w *whereabouts) startsAnew(place int, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.ExitCode != 0 && w.isInOlderSandbox(place) && !w.in.isEnding() && podstatus.MayRestartInNewSandbox(w.in.Pod, c, end.ExitCode)
}

// isReplaced reports whether a container was told to end for the sake of the next
// attempt, which its policy makes.
func (w *whereabouts) isReplaced(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return !w.in.isEnding() && w.in.Memory.isReplaced(c.Name, end.ContainerID) && podstatus.MayRestart(w.in.Pod, c, exitUnknown)
}
