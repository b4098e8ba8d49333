package reconcile

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// SetReady applies the result of a readiness probe to the container with an ID, and updates the
// Ready conditions of the pod. It returns false, and changes nothing, if
// podstatus.SetReadinessResult changes nothing or the container does not exist. It ignores ordinary
// init containers, which have no probes.
func SetReady(pod *v1.Pod, status *v1.PodStatus, containerID string, ready bool) bool {
	c := findProbedStatus(pod, status, containerID)
	if c == nil || !podstatus.SetReadinessResult(c, ready) {
		return false
	}
	updateReadyConditions(pod, status)
	return true
}

// updateReadyConditions sets the conditions ContainersReady and Ready from the readiness of the containers and
// the readiness gates.
func updateReadyConditions(pod *v1.Pod, status *v1.PodStatus) {
	containers := podstatus.ContainersReadyCondition(pod, status)
	setCondition(status, podstatus.ReadyCondition(pod, status.Conditions, containers))
	setCondition(status, containers)
}

// SetStarted applies the result of a startup probe to the container with an ID, and updates the
// conditions of the pod: a sidecar that has started may complete the initialization. It returns
// false, and changes nothing, if podstatus.SetStartupResult changes nothing or the container does
// not exist.
func SetStarted(pod *v1.Pod, status *v1.PodStatus, containerID string, started bool) bool {
	c := findProbedStatus(pod, status, containerID)
	if c == nil {
		return false
	}
	wasReady := c.Ready
	if !podstatus.SetStartupResult(c, started) {
		return false
	}
	if c.Ready != wasReady {
		updateReadyConditions(pod, status)
	}
	if len(pod.Spec.InitContainers) > 0 {
		setCondition(status, podstatus.InitializedCondition(pod, status))
	}
	return true
}

// findProbedStatus returns a pointer to the status with this container ID, if it belongs to a regular container
// or a sidecar. If not, it returns nil.
func findProbedStatus(pod *v1.Pod, status *v1.PodStatus, containerID string) *v1.ContainerStatus {
	c := findStatusByID(status.ContainerStatuses, containerID)
	if c != nil {
		return c
	}
	c = findStatusByID(status.InitContainerStatuses, containerID)
	if c == nil {
		return nil
	}
	if init := podspec.InitContainer(pod, c.Name); init == nil || !podspec.IsSidecar(init) {
		return nil
	}
	return c
}

// findStatusByID returns a pointer into list to the status with this container ID, or nil. An empty ID matches
// none.
func findStatusByID(list []v1.ContainerStatus, containerID string) *v1.ContainerStatus {
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
