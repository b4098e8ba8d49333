package statustest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// CheckTransition checks that new may be published after old (nil if new is
// the first of its pod, or of a new incarnation of its UID).
//
//   - No container disappears from a list, and no restart count falls.
//   - A container that has ended does not run again under the same ID, and
//     that it ended does not go unsaid: it is in its state or its last one. One
//     whose end was not observed may turn out not to have ended.
//   - One that runs again is another attempt: its restart count has risen, unless
//     its end was not observed and was counted then.
//   - As long as a sidecar is in its first run and has not started, nothing after
//     it runs for the first time.
//   - A terminal phase stays. The start time stays, and the transition time of
//     a condition stays with its status.
//   - A container that has a finish time has a start time, and not after it.
//
// The last is checked of new alone. Which init container is a sidecar, and how far
// a running one has come, needs the pod: that is CheckStatus.
func CheckTransition(old, new *v1.PodStatus) error {
	var faults []error
	for _, list := range statusLists(new) {
		faults = append(faults, checkTimes(list))
	}
	if old != nil {
		oldLists := statusLists(old)
		for i, list := range statusLists(new) {
			faults = append(faults, checkContainers(oldLists[i], list))
		}
		faults = append(faults, checkSidecars(old, new))
		faults = append(faults, checkPhase(old, new), checkKeptTimes(old, new))
	}
	return joinFaults(faults...)
}

// CheckStatus checks one published status against the pod that it is of.
//
//   - A pod that is Ready runs: all sidecars and regular containers are ready
//     and running, and all readiness gates are True. A pod that is over is not,
//     nor is one all containers of which are restarting.
//   - A container that is ready runs and is not known not to have started; an
//     ordinary init container has succeeded; an ephemeral one is never asked.
//   - A container that may not start yet, because an ordinary init container
//     before it has not succeeded, has not: it is Waiting, without a last
//     termination, and not Started. A sidecar without a trace proves nothing: its
//     records may be lost.
func CheckStatus(pod *v1.Pod, status *v1.PodStatus) error {
	return joinFaults(
		checkReady(pod, status),
		checkReadiness(pod, status),
		checkInitOrder(status, func(c *v1.ContainerStatus) bool {
			return neverRan(c) && !isSidecar(pod, c) || isFirstInitRun(pod, c)
		}),
	)
}

// CheckGone checks the last status of a pod that is reported to be gone: no
// container of it runs, and of none that was started is the end unknown.
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

// joinFaults joins the faults, if there are any, under the name of the package.
func joinFaults(faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("statustest: %w", err)
	}
	return nil
}

func statusLists(s *v1.PodStatus) [3][]v1.ContainerStatus {
	return [3][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses}
}

func checkTimes(list []v1.ContainerStatus) error {
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

// checkInitOrder checks that nothing behind an init container that blocks has
// ever run.
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

// neverRan reports whether nothing says that the container ever ran.
func neverRan(c *v1.ContainerStatus) bool {
	return c.State.Running == nil && c.State.Terminated == nil && c.LastTerminationState.Terminated == nil &&
		c.RestartCount == 0 && (c.Started == nil || !*c.Started)
}

// isFirstInitRun reports whether an ordinary init container of the pod is in its
// first run, or has failed it: then nothing behind it can ever have run.
// Later runs, as those after the loss of a sandbox, prove nothing.
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

func isSidecar(pod *v1.Pod, c *v1.ContainerStatus) bool {
	spec := podspec.InitContainer(pod, c.Name)
	return spec != nil && podspec.IsSidecar(spec)
}

func checkContainers(old, new []v1.ContainerStatus) error {
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
			faults = append(faults, fmt.Errorf("container %s: that it ended is not said any more", before.Name))
		}
	}
	return errors.Join(faults...)
}

// unknownExitReason is the reason of an end that nobody saw.
const unknownExitReason = "ContainerStatusUnknown"

// checkSidecars checks that nothing ran for the first time behind a container in
// its first run that had not started before and has not now. That is a sidecar:
// behind an ordinary init container that runs nothing ever does.
func checkSidecars(old, new *v1.PodStatus) error {
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
		if blocker == "" && before != nil && isStarting(before) && isStarting(c) && before.ContainerID == c.ContainerID {
			blocker = c.Name
		}
	}
	for i := range new.ContainerStatuses {
		check(old.ContainerStatuses, &new.ContainerStatuses[i])
	}
	return errors.Join(faults...)
}

// isStarting reports whether a container is in its first run and has not started.
func isStarting(c *v1.ContainerStatus) bool {
	return c.State.Running != nil && c.Started != nil && !*c.Started && c.RestartCount == 0 && c.LastTerminationState.Terminated == nil
}

func findStatus(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// hasTerminated reports whether the status says that the container ended once.
func hasTerminated(c *v1.ContainerStatus) bool {
	return c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

func checkPhase(old, new *v1.PodStatus) error {
	if podstatus.IsTerminal(old.Phase) && new.Phase != old.Phase {
		return fmt.Errorf("the phase went from %s to %s", old.Phase, new.Phase)
	}
	return nil
}

func checkKeptTimes(old, new *v1.PodStatus) error {
	var faults []error
	if !old.StartTime.IsZero() && !old.StartTime.Equal(new.StartTime) {
		faults = append(faults, fmt.Errorf("the start time went from %v to %v", old.StartTime, new.StartTime))
	}
	for i := range new.Conditions {
		after := &new.Conditions[i]
		before := podstatus.FindCondition(old.Conditions, after.Type)
		if before != nil && before.Status == after.Status && !before.LastTransitionTime.Equal(&after.LastTransitionTime) {
			faults = append(faults, fmt.Errorf("condition %s has another transition time without a transition", after.Type))
		}
	}
	return errors.Join(faults...)
}

func checkReady(pod *v1.Pod, s *v1.PodStatus) error {
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

// checkReadiness checks what container by container is said of readiness.
func checkReadiness(pod *v1.Pod, s *v1.PodStatus) error {
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
