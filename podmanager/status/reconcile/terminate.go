package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// What is said of a container whose end nobody saw. It is never a success.
const (
	unknownEndCode    = 137
	unknownEndReason  = string(podstatus.ReasonContainerStatusUnknown)
	unknownEndMessage = "The container could not be located when the pod was terminated"
)

// Terminate changes the status into that of a pod nothing of which runs any more.
// Containers that were started, or may have been, and whose end is not known, are given one
// with exit code 137; a pod that is not static and not in a terminal phase has Failed.
func Terminate(pod *v1.Pod, status *v1.PodStatus, static bool) {
	if hasInitialized(pod, status) {
		endAll(status.ContainerStatuses)
	}
	endAll(startedInit(status.InitContainerStatuses))
	endRunning(status.EphemeralContainerStatuses)
	if !static && !podstatus.IsTerminal(status.Phase) {
		status.Phase = v1.PodFailed
	}
	judgeReadiness(pod, status) // also of a static pod, whose phase stays
}

// endAll gives an end to each container that has none.
func endAll(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			end(&list[i])
		}
	}
}

// endRunning gives an end to each container that was last seen running. An
// ephemeral one that was not has not failed: nobody waited for it.
func endRunning(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Running != nil {
			end(&list[i])
		}
	}
}

// end says that the container has ended, though nobody saw how.
func end(c *v1.ContainerStatus) {
	c.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: unknownEndCode,
		Reason:   unknownEndReason,
		Message:  unknownEndMessage,
	}}
	podstatus.SetStopped(c)
}

// hasInitialized reports whether the regular containers of the pod may ever
// have been started. From then on, that nothing is known of one is a failure.
func hasInitialized(pod *v1.Pod, status *v1.PodStatus) bool {
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
	return isInitialized(&pod.Spec.InitContainers[last], &status.InitContainerStatuses[last])
}

// isInitialized reports whether an init container has done what the next one
// waits for.
func isInitialized(container *v1.Container, c *v1.ContainerStatus) bool {
	if podspec.IsSidecar(container) {
		return c.State.Running != nil && c.Started != nil && *c.Started
	}
	return succeeded(c.State) || succeeded(c.LastTerminationState)
}

func succeeded(state v1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.ExitCode == 0
}

// startedInit are the init containers up to the last that ever started, and
// at least the first: it may have been started without anybody seeing it.
func startedInit(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(list) - 1; i > 0; i-- {
		if podstatus.HasRun(&list[i]) {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}
