package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// buildObserved returns the facts about the sandbox, the initialization and the restarts that
// podstatus.Conclude needs besides the container statuses in s.
func (in *StatusInput) buildObserved(s *v1.PodStatus) podstatus.Observed {
	o := podstatus.Observed{
		SandboxReady: in.sandboxes.replaceReason == "", SandboxMessage: in.sandboxes.replaceReason.messageOfSandboxReplacement(),
		SandboxLost: in.sandboxes.replaceReason != "" && !in.isTerminatingTerminatedOrDeleted() && isSandboxLost(in),
		Ending:      in.Ending, Terminated: in.Terminal, Static: in.Static,
		RestartingAll: in.restartingAll,
	}
	if in.hasOld {
		o.Previous = in.Old
	}
	w := sandboxProgress{in: in}
	w.findLastReached()
	if w.x != nil && !in.restartingAll {
		o.Initialized = new(w.isInitialized(s))
	}
	if w.hasOlder {
		o.Outdated = w.outdatedContainers()
	}
	o.Restarting = w.restartingContainers(s)
	return o
}

// sandboxProgress shows which containers have reached the current sandbox.
type sandboxProgress struct {
	in *StatusInput
	// x has the records; nil if the pod has no sandbox, or if all records are in the current one.
	x *containerRecords
	// hasOlder: a record is not in the current sandbox.
	hasOlder bool
	// lastReached is the last position of the spec with a record in the current sandbox, or -1. The
	// initialization is past all containers before it.
	lastReached int
}

// hasRecordOutsideSandbox reports whether a container record of the current pod is not in the current sandbox.
// The pod must have a current sandbox.
func (in *StatusInput) hasRecordOutsideSandbox() bool {
	for i := range in.Runtime.Containers {
		c := &in.Runtime.Containers[i]
		if c.Incarnation == in.Incarnation && c.SandboxID != in.sandboxes.current.ID {
			return true
		}
	}
	return false
}

// isRecordInOlderSandbox reports whether a container record is in another sandbox than the current one, while
// the pod keeps the current sandbox.
func (in *StatusInput) isRecordInOlderSandbox(rec *runtime.ContainerStatus) bool {
	return in.sandboxes.replaceReason == "" && rec.SandboxID != in.sandboxes.current.ID
}

// setNotReadyInOlderSandbox sets Ready to false, in status, for each init or regular container of the pod that
// runs in an older sandbox. It does nothing if the current sandbox is to be replaced.
func (in *StatusInput) setNotReadyInOlderSandbox(status *v1.PodStatus) {
	for i := range in.Runtime.Containers {
		rec := &in.Runtime.Containers[i]
		if rec.Incarnation != in.Incarnation || rec.State != runtime.StateRunning || !in.isRecordInOlderSandbox(rec) {
			continue
		}
		for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for j := range list {
				if in.matchesContainerID(list[j].ContainerID, rec.ID) {
					podstatus.SetUnreachable(&list[j])
				}
			}
		}
	}
}

// findLastReached sets hasOlder (a record is outside the current sandbox), and lastReached, the position of the
// last init or regular container with a record in the current sandbox. It leaves both unset if there is no
// sandbox. It leaves only lastReached unset if all records are in the current sandbox and the pod needs no
// initialization or has it already.
func (w *sandboxProgress) findLastReached() {
	if w.in.sandboxes.current == nil {
		return
	}
	initialized := w.in.Memory.Initialized == w.in.sandboxes.current.ID
	if w.hasOlder = w.in.hasRecordOutsideSandbox(); !w.hasOlder && (initialized || len(w.in.Pod.Spec.InitContainers) == 0) {
		return
	}
	w.x, w.lastReached = new(containerRecords), -1
	w.x.readRecords(w.in)
	for i := range w.x.ephemeral {
		if w.isInCurrentSandbox(i) {
			w.lastReached = i
		}
	}
	if initialized {
		w.lastReached = max(w.lastReached, w.x.regular)
	}
}

// isInitialized reports whether the pod is initialized in its current sandbox. It is true if the sandbox has a
// record of a regular container, because regular containers start after the initialization. Otherwise the last
// init container must have a record in the sandbox. As a sidecar it must run and have the status Started. As any
// other init container it must have succeeded. decideInitContainers decides by the same rules.
func (w *sandboxProgress) isInitialized(s *v1.PodStatus) bool {
	last := w.x.regular - 1
	if w.lastReached != last {
		return w.lastReached > last
	}
	if last < 0 {
		return false
	}
	c := &w.in.Pod.Spec.InitContainers[last]
	is, _ := w.x.recordsAt(last)
	if !podspec.IsSidecar(c) {
		return is.State == runtime.StateExited && is.ExitCode == 0
	}
	inits := podspec.StatusIndex(s.InitContainerStatuses)
	status := inits.Find(c.Name, last)
	return is.State == runtime.StateRunning && status != nil && status.Started != nil && *status.Started
}

// isInCurrentSandbox reports whether the newest runtime container of a container in the spec belongs to the
// current sandbox. place is the position of the container in the spec. It returns false if the runtime has no
// such container.
func (w *sandboxProgress) isInCurrentSandbox(place int) bool {
	is, _ := w.x.recordsAt(place)
	return is != nil && is.SandboxID == w.in.sandboxes.current.ID
}

// isInOlderSandbox reports whether the container at a position of the spec has no record in the current
// sandbox, although the pod keeps this sandbox and has records in an older one.
func (w *sandboxProgress) isInOlderSandbox(place int) bool {
	return w.hasOlder && w.in.sandboxes.replaceReason == "" && !w.isInCurrentSandbox(place)
}

// outdatedContainers returns the names of the init and regular containers whose status is from an older
// sandbox. An ordinary init container counts only if the initialization has not reached it in the current
// sandbox.
func (w *sandboxProgress) outdatedContainers() []string {
	var names []string
	spec := &w.in.Pod.Spec
	for i := range w.x.ephemeral {
		behind := w.isInOlderSandbox(i)
		if i < w.x.regular && !podspec.IsSidecar(&spec.InitContainers[i]) {
			behind = w.in.sandboxes.replaceReason == "" && i > w.lastReached
		}
		if behind {
			names = append(names, specContainerAt(spec, i).Name)
		}
	}
	return names
}

// restartingContainers returns the names of the exited init and regular containers that start again although
// their exit code and restart policy alone would not allow it.
func (w *sandboxProgress) restartingContainers(s *v1.PodStatus) []string {
	in := w.in
	if !w.hasOlder && in.sandboxes.replaceReason == "" && len(in.Starting) == 0 && in.Memory.containers.hasNoneReplaced() {
		return nil
	}
	var names []string
	spec := &in.Pod.Spec
	inits, regular := podspec.StatusIndex(s.InitContainerStatuses), podspec.StatusIndex(s.ContainerStatuses)
	for i := range len(spec.InitContainers) + len(spec.Containers) {
		c, list, at := specContainerAt(spec, i), &inits, i
		if at >= len(spec.InitContainers) {
			list, at = &regular, at-len(spec.InitContainers)
		}
		status := list.Find(c.Name, at)
		if status == nil || status.State.Running != nil {
			continue
		}
		if end := podstatus.LastTermination(status); end != nil && w.willRestartDespitePolicy(i, c, status, end) {
			names = append(names, c.Name)
		}
	}
	return names
}

// willRestartDespitePolicy reports whether the exited container at a position of the spec starts again although
// its exit code and restart policy alone would not allow it. The reason is a new sandbox, a stop for the next
// attempt, or a start in this sync.
func (w *sandboxProgress) willRestartDespitePolicy(place int, c *v1.Container, status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	if place < len(w.in.Pod.Spec.InitContainers) {
		return w.isInterruptedInit(c, end)
	}
	return w.in.isStarting(status) || w.restartsAfterStopForNextAttempt(c, end) || w.restartsInNewSandbox(place, c, end)
}

// isStarting reports whether the status of a container is waiting and the current sync starts the container.
func (in *StatusInput) isStarting(status *v1.ContainerStatus) bool {
	if status.State.Waiting == nil {
		return false
	}
	return in.starting.Find(status.Name, 0) != nil
}

// isInterruptedInit reports whether an exited init container starts again because the sandbox is replaced. The
// loss of the sandbox may have caused the exit. It returns false if the pod terminates or the policy allows no
// start in a new sandbox.
func (w *sandboxProgress) isInterruptedInit(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return w.in.sandboxes.replaceReason != "" && !w.in.isTerminatingTerminatedOrDeleted() && podstatus.MayRestartInNewSandbox(w.in.Pod, c, end.ExitCode)
}

// restartsInNewSandbox reports whether a failed regular container starts again because it ran in an older
// sandbox. It returns false if the pod terminates or the policy allows no start in a new sandbox.
func (w *sandboxProgress) restartsInNewSandbox(place int, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return end.ExitCode != 0 && w.isInOlderSandbox(place) && !w.in.isTerminatingTerminatedOrDeleted() && podstatus.MayRestartInNewSandbox(w.in.Pod, c, end.ExitCode)
}

// restartsAfterStopForNextAttempt reports whether the executor stopped a container for its next attempt, and
// the restart policy allows a restart after a failure. It returns false if the pod terminates.
func (w *sandboxProgress) restartsAfterStopForNextAttempt(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return !w.in.isTerminatingTerminatedOrDeleted() && w.in.Memory.isStoppedForNextAttempt(c.Name, end.ContainerID) && podstatus.MayRestart(w.in.Pod, c, exitUnknown)
}
