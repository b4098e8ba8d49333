package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// The termination of a container whose exit is unknown. It is never a success.
const (
	unknownExitCode    = 137
	unknownExitReason  = string(podstatus.ReasonContainerStatusUnknown)
	unknownExitMessage = "The container could not be located when the pod was terminated"
)

// Terminate changes a status into the last status of a pod without running containers. A container
// that has started, or may have, and whose exit is unknown, gets exit code 137. A pod that is not
// static and not in a terminal phase becomes Failed.
func Terminate(pod *v1.Pod, status *v1.PodStatus, static bool) {
	if mayHaveInitialized(pod, status) {
		setUnknownTerminationOfAll(status.ContainerStatuses)
	}
	setUnknownTerminationOfAll(initContainersThatMayHaveRun(status.InitContainerStatuses))
	setUnknownTerminationOfRunning(status.EphemeralContainerStatuses)
	if !static && !podstatus.IsTerminal(status.Phase) {
		status.Phase = v1.PodFailed
	}
	updateReadyConditions(pod, status) // Also for a static pod, whose phase does not change.
}

// setUnknownTerminationOfAll sets a termination with an unknown exit (code 137) for each container that has
// none.
func setUnknownTerminationOfAll(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			setUnknownTermination(&list[i])
		}
	}
}

// setUnknownTerminationOfRunning sets a termination with an unknown exit (code 137) for each running container.
// It leaves waiting ones alone: an ephemeral container that did not run has not failed.
func setUnknownTerminationOfRunning(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Running != nil {
			setUnknownTermination(&list[i])
		}
	}
}

// setUnknownTermination replaces the state of a container by a termination with an unknown exit (code 137), and
// marks the container as neither ready nor started.
func setUnknownTermination(c *v1.ContainerStatus) {
	c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: unknownExitCode,
		Reason:   unknownExitReason,
		Message:  unknownExitMessage,
	}}
	podstatus.SetStopped(c)
}

// mayHaveInitialized reports whether the regular containers of the pod may have started: the pod has no init
// containers, a regular container has run, or the last init container is done.
func mayHaveInitialized(pod *v1.Pod, status *v1.PodStatus) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	if podstatus.AnyHasRun(status.ContainerStatuses) {
		return true
	}
	last := len(pod.Spec.InitContainers) - 1
	if len(status.InitContainerStatuses) <= last {
		return false
	}
	return isInitDone(&pod.Spec.InitContainers[last], &status.InitContainerStatuses[last])
}

// isInitDone reports whether an init container lets the next container start: it has exited with 0 in this or
// its last run or, as a sidecar, it runs and has started.
func isInitDone(container *v1.Container, c *v1.ContainerStatus) bool {
	if podspec.IsSidecar(container) {
		return c.State.Running != nil && c.Started != nil && *c.Started
	}
	return hasSucceeded(c.State) || hasSucceeded(c.LastTerminationState)
}

// hasSucceeded reports whether a container state is a termination with exit code 0.
func hasSucceeded(state v1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.ExitCode == 0
}

// initContainersThatMayHaveRun returns the statuses up to the last init container that has run. It returns at
// least the first status, because that container may have started although no status shows it.
func initContainersThatMayHaveRun(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(list) - 1; i > 0; i-- {
		if podstatus.HasRun(&list[i]) {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}
