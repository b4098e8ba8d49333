package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// SetReady notes a readiness result for the container with this ID, and the conditions that
// follow from it. It reports false, and has changed nothing, if the container is not there,
// is known to be so, or cannot be: one that is ready runs and is not known not to have
// started, and an ordinary init container is ready when it is done, which no probe tells.
func SetReady(pod *v1.Pod, status *v1.PodStatus, containerID string, ready bool) bool {
	c := probed(pod, status, containerID)
	if c == nil || !podstatus.SetReadinessResult(c, ready) {
		return false
	}
	judgeReadiness(pod, status)
	return true
}

// judgeReadiness sets the two conditions that follow from the readiness of the
// containers.
func judgeReadiness(pod *v1.Pod, status *v1.PodStatus) {
	containers := podstatus.ContainersReadyCondition(pod, status)
	setCondition(status, podstatus.ReadyCondition(pod, status.Conditions, containers))
	setCondition(status, containers)
}

// SetStarted notes a startup result for the container with this ID, and what follows from
// it: the pod may be initialized by a sidecar that has started, and what has not started is
// not ready. It reports false, and has changed nothing, if the container is not there, does
// not run, or is known to be so.
func SetStarted(pod *v1.Pod, status *v1.PodStatus, containerID string, started bool) bool {
	c := probed(pod, status, containerID)
	if c == nil {
		return false
	}
	wasReady := c.Ready
	if !podstatus.SetStartupResult(c, started) {
		return false
	}
	if c.Ready != wasReady {
		judgeReadiness(pod, status)
	}
	if len(pod.Spec.InitContainers) > 0 {
		setCondition(status, podstatus.InitializedCondition(pod, status))
	}
	return true
}

// probed is the status of the regular container or the sidecar with this ID, or
// nil.
func probed(pod *v1.Pod, status *v1.PodStatus, containerID string) *v1.ContainerStatus {
	c := findContainer(status.ContainerStatuses, containerID)
	if c != nil {
		return c
	}
	c = findContainer(status.InitContainerStatuses, containerID)
	if c == nil {
		return nil
	}
	if init := podspec.InitContainer(pod, c.Name); init == nil || !podspec.IsSidecar(init) {
		return nil
	}
	return c
}

// findContainer is the status with this ID, or nil.
func findContainer(list []v1.ContainerStatus, containerID string) *v1.ContainerStatus {
	if containerID == "" {
		return nil
	}
	for i := range list {
		if list[i].ContainerID == containerID {
			return &list[i]
		}
	}
	return nil
}
