package statustest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// CheckTransition checks that new may be published after old. old is nil if new is the first status
// of its pod or of a new incarnation of its UID.
//
//   - No container disappears from a list, and no restart count decreases.
//   - A terminated container does not run again under the same ID, and its termination stays in its
//     state or its last state. A container whose exit was not observed may turn out to be running.
//   - A container that runs again has a higher restart count, unless its exit was not observed and
//     was counted then.
//   - While a sidecar is in its first run and has not started, nothing after it runs for the first
//     time.
//   - A terminal phase stays. The start time stays, and the transition time of a condition stays
//     with its status.
//   - A container with a finish time has a start time, which is not after it.
//
// The last rule holds for new alone. CheckStatus has the rules that need the pod: which init
// container is a sidecar, and how far a running one is.
func CheckTransition(old, new *v1.PodStatus) error {
	var faults []error
	for _, list := range statusLists(new) {
		faults = append(faults, checkTerminationTimes(list))
	}
	if old != nil {
		oldLists := statusLists(old)
		for i, list := range statusLists(new) {
			faults = append(faults, checkContainerTransitions(oldLists[i], list))
		}
		faults = append(faults, checkSidecarsStartedBeforeOthers(old, new))
		faults = append(faults, checkTerminalPhaseKept(old, new), checkKeptTimes(old, new))
	}
	return joinFaults(faults...)
}

// CheckStatus checks one published status against its pod.
//
//   - All sidecars and regular containers of a Ready pod are ready and running, and all its
//     readiness gates are True. A pod in a terminal phase is not Ready, nor is a pod whose
//     containers are all restarting.
//   - A ready container runs and is not known as not started. A ready ordinary init container has
//     succeeded. An ephemeral container is never ready.
//   - A container after an ordinary init container that has not succeeded is Waiting, has no last
//     termination, and is not Started. A sidecar without a record proves nothing, because its
//     records may be lost.
func CheckStatus(pod *v1.Pod, status *v1.PodStatus) error {
	return joinFaults(
		checkReadyConditionPossible(pod, status),
		checkReadyFlagsOfContainersPossible(pod, status),
		checkInitOrder(status, func(c *v1.ContainerStatus) bool {
			return neverRan(c) && !isSidecar(pod, c) || isFirstInitRun(pod, c)
		}),
	)
}

// CheckGone checks the last status of a pod that is reported as removed: no container runs, and
// every started container has a termination.
func CheckGone(last *v1.PodStatus) error {
	var faults []error
	for _, list := range statusLists(last) {
		for i := range list {
			if c := &list[i]; c.State.Running != nil {
				faults = append(faults, fmt.Errorf("container %s of a pod that is gone is running", c.Name))
			} else if c.State.Terminated == nil && c.Started != nil && *c.Started {
				faults = append(faults, fmt.Errorf("container %s of a pod that is gone was started and has no end", c.Name))
			}
		}
	}
	return joinFaults(faults...)
}

// joinFaults joins the faults into one error that begins with the name of the package. It returns nil if all
// faults are nil.
func joinFaults(faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("statustest: %w", err)
	}
	return nil
}

// statusLists returns the lists of init, regular and ephemeral container statuses of a status, in this order.
func statusLists(s *v1.PodStatus) [3][]v1.ContainerStatus {
	return [3][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses}
}

// checkTerminationTimes checks the times of each termination, also of last terminations. It returns an error
// for each one that has a finish time and no start time, or finished before it started.
func checkTerminationTimes(list []v1.ContainerStatus) error {
	var faults []error
	for i := range list {
		for _, t := range []*v1.ContainerStateTerminated{list[i].State.Terminated, list[i].LastTerminationState.Terminated} {
			switch {
			case t == nil || t.FinishedAt.IsZero():
			case t.StartedAt.IsZero():
				faults = append(faults, fmt.Errorf("container %s finished without having started", list[i].Name))
			case t.FinishedAt.Before(&t.StartedAt):
				faults = append(faults, fmt.Errorf("container %s finished at %v, before it started at %v", list[i].Name, t.FinishedAt, t.StartedAt))
			}
		}
	}
	return errors.Join(faults...)
}

// checkInitOrder returns an error for each container that has run although an init container before it blocks
// it. An init container blocks the later ones if blocks returns true for its status.
func checkInitOrder(s *v1.PodStatus, blocks func(*v1.ContainerStatus) bool) error {
	var faults []error
	blocker := ""
	check := func(c *v1.ContainerStatus) {
		if blocker != "" && (!neverRan(c) || c.State.Waiting == nil) {
			faults = append(faults, fmt.Errorf("container %s has run before init container %s let it", c.Name, blocker))
		}
	}
	for i := range s.InitContainerStatuses {
		c := &s.InitContainerStatuses[i]
		check(c)
		if blocker == "" && blocks(c) {
			blocker = c.Name
		}
	}
	for i := range s.ContainerStatuses {
		check(&s.ContainerStatuses[i])
	}
	return errors.Join(faults...)
}

// neverRan reports whether a container status shows no run of the container, neither now nor before.
func neverRan(c *v1.ContainerStatus) bool {
	return c.State.Running == nil && c.State.Terminated == nil && c.LastTerminationState.Terminated == nil &&
		c.RestartCount == 0 && (c.Started == nil || !*c.Started)
}

// isFirstInitRun reports whether c belongs to an ordinary init container that is in its first run or has failed
// it, so that no later container can have run. Later runs, as after the loss of a sandbox, prove nothing. It
// returns false for a sidecar.
func isFirstInitRun(pod *v1.Pod, c *v1.ContainerStatus) bool {
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		if spec.Name != c.Name || podspec.IsSidecar(spec) {
			continue
		}
		failed := c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
		return c.RestartCount == 0 && c.LastTerminationState.Terminated == nil && (c.State.Running != nil || failed)
	}
	return false
}

// isSidecar reports whether a container status belongs to a sidecar of the pod.
func isSidecar(pod *v1.Pod, c *v1.ContainerStatus) bool {
	spec := podspec.InitContainer(pod, c.Name)
	return spec != nil && podspec.IsSidecar(spec)
}

// checkContainerTransitions returns an error for each container of old that has made an impossible change in
// new. Impossible changes are: it disappeared, its restart count fell, it runs again after its termination
// under the same ID or with the same count, or its termination is no longer shown. A termination that was only
// assumed may be corrected.
func checkContainerTransitions(old, new []v1.ContainerStatus) error {
	var faults []error
	for i := range old {
		before := &old[i]
		after := findStatus(new, before.Name)
		if after == nil {
			faults = append(faults, fmt.Errorf("container %s disappeared", before.Name))
			continue
		}
		if after.RestartCount < before.RestartCount {
			faults = append(faults, fmt.Errorf("container %s: the restart count fell from %d to %d", before.Name, before.RestartCount, after.RestartCount))
		}
		end := before.State.Terminated
		if end != nil && end.Reason == unknownExitReason && before.ContainerID == after.ContainerID && after.State.Running != nil {
			continue // It had not ended.
		}
		if end != nil && before.ContainerID == after.ContainerID && after.State.Running != nil {
			faults = append(faults, fmt.Errorf("container %s runs again under the ID %q", before.Name, after.ContainerID))
		}
		if end != nil && end.Reason != unknownExitReason && after.State.Running != nil && after.RestartCount == before.RestartCount {
			faults = append(faults, fmt.Errorf("container %s runs again and its restart count is still %d", before.Name, after.RestartCount))
		}
		if hasTerminated(before) && !hasTerminated(after) {
			faults = append(faults, fmt.Errorf("container %s: its termination is no longer shown", before.Name))
		}
	}
	return errors.Join(faults...)
}

// unknownExitReason is the reason of a container whose exit was not observed.
const unknownExitReason = "ContainerStatusUnknown"

// checkSidecarsStartedBeforeOthers returns an error for each container that has run for the first time since
// old although a sidecar before it has not started. The sidecar must be in its first run. A running init
// container with Started false counts as a sidecar here.
func checkSidecarsStartedBeforeOthers(old, new *v1.PodStatus) error {
	var faults []error
	blocker := ""
	check := func(list []v1.ContainerStatus, c *v1.ContainerStatus) {
		if before := findStatus(list, c.Name); blocker != "" && before != nil && neverRan(before) && !neverRan(c) {
			faults = append(faults, fmt.Errorf("container %s has run before sidecar %s had started", c.Name, blocker))
		}
	}
	for i := range new.InitContainerStatuses {
		c := &new.InitContainerStatuses[i]
		check(old.InitContainerStatuses, c)
		before := findStatus(old.InitContainerStatuses, c.Name)
		if blocker == "" && before != nil && isInFirstRunAndNotStarted(before) && isInFirstRunAndNotStarted(c) && before.ContainerID == c.ContainerID {
			blocker = c.Name
		}
	}
	for i := range new.ContainerStatuses {
		check(old.ContainerStatuses, &new.ContainerStatuses[i])
	}
	return errors.Join(faults...)
}

// isInFirstRunAndNotStarted reports whether a container is in its first run and its status says that it has not
// started.
func isInFirstRunAndNotStarted(c *v1.ContainerStatus) bool {
	return c.State.Running != nil && c.Started != nil && !*c.Started && c.RestartCount == 0 && c.LastTerminationState.Terminated == nil
}

// findStatus returns a pointer into list to the status of the container with this name, or nil.
func findStatus(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// hasTerminated reports whether the status shows a termination, as its state or as its last termination state.
func hasTerminated(c *v1.ContainerStatus) bool {
	return c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

// checkTerminalPhaseKept returns an error if old has a terminal phase and new has another phase.
func checkTerminalPhaseKept(old, new *v1.PodStatus) error {
	if podstatus.IsTerminal(old.Phase) && new.Phase != old.Phase {
		return fmt.Errorf("the phase went from %s to %s", old.Phase, new.Phase)
	}
	return nil
}

// checkKeptTimes returns an error if the start time has changed or disappeared, or if a condition without a transition
// has another transition time.
func checkKeptTimes(old, new *v1.PodStatus) error {
	var faults []error
	if !old.StartTime.IsZero() && !old.StartTime.Equal(new.StartTime) {
		faults = append(faults, fmt.Errorf("the start time went from %v to %v", old.StartTime, new.StartTime))
	}
	for i := range new.Conditions {
		after := &new.Conditions[i]
		before := podstatus.FindCondition(old.Conditions, after.Type)
		if before != nil && !podstatus.IsTransition(before, after) && !before.LastTransitionTime.Equal(&after.LastTransitionTime) {
			faults = append(faults, fmt.Errorf("condition %s has another transition time without a transition", after.Type))
		}
	}
	return errors.Join(faults...)
}

// checkReadyConditionPossible checks the condition Ready of a pod that has it. It returns an error for each
// reason why the pod cannot be ready: its phase, a container or sidecar that is not ready, a restart of all
// containers, or a readiness gate that is not True.
func checkReadyConditionPossible(pod *v1.Pod, s *v1.PodStatus) error {
	if !podstatus.IsConditionTrue(s.Conditions, v1.PodReady) {
		return nil
	}
	var faults []error
	if podstatus.IsConditionTrue(s.Conditions, v1.AllContainersRestarting) {
		faults = append(faults, errors.New("the pod is ready and all its containers are restarting"))
	}
	if podstatus.IsTerminal(s.Phase) {
		faults = append(faults, fmt.Errorf("the pod is ready and has %s", s.Phase))
	}
	demand := func(name string, list []v1.ContainerStatus) {
		if c := findStatus(list, name); c == nil || !c.Ready || c.State.Running == nil {
			faults = append(faults, fmt.Errorf("the pod is ready without container %s", name))
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			demand(c.Name, s.InitContainerStatuses)
		}
	}
	for i := range pod.Spec.Containers {
		demand(pod.Spec.Containers[i].Name, s.ContainerStatuses)
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !podstatus.IsConditionTrue(s.Conditions, gate.ConditionType) {
			faults = append(faults, fmt.Errorf("the pod is ready with readiness gate %s closed", gate.ConditionType))
		}
	}
	return errors.Join(faults...)
}

// checkReadyFlagsOfContainersPossible returns an error for each container status whose ready flag is true but cannot be.
// A container cannot be ready if it does not run or has not started. An ordinary init container cannot be ready if
// it has not succeeded. An ephemeral container cannot be ready.
func checkReadyFlagsOfContainersPossible(pod *v1.Pod, s *v1.PodStatus) error {
	var faults []error
	runs := func(c *v1.ContainerStatus) {
		if c.Ready && (c.State.Running == nil || c.Started != nil && !*c.Started) {
			faults = append(faults, fmt.Errorf("container %s is ready and does not run, or has not started", c.Name))
		}
	}
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		switch c := findStatus(s.InitContainerStatuses, spec.Name); {
		case c == nil:
		case podspec.IsSidecar(spec):
			runs(c)
		case c.Ready && (c.State.Terminated == nil || c.State.Terminated.ExitCode != 0):
			faults = append(faults, fmt.Errorf("init container %s is ready and has not succeeded", c.Name))
		}
	}
	for i := range s.ContainerStatuses {
		runs(&s.ContainerStatuses[i])
	}
	for i := range s.EphemeralContainerStatuses {
		if c := &s.EphemeralContainerStatuses[i]; c.Ready {
			faults = append(faults, fmt.Errorf("ephemeral container %s is ready", c.Name))
		}
	}
	return errors.Join(faults...)
}
