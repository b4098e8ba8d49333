package reconcile

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// SetReady notes a readiness result for the container with this ID, and what
// follows from it for the pod. It reports false, and has changed nothing, if
// the container is not there, does not run, or is known to be so. [ST-8]
func SetReady(pod *v1.Pod, status *v1.PodStatus, containerID string, ready bool) bool {
	c := findContainer(status, containerID)
	if c == nil || c.Ready == ready || ready && c.State.Running == nil {
		return false
	}
	c.Ready = ready
	judgeReadiness(pod, status)
	return true
}

// judgeReadiness sets the two conditions that follow from the readiness of the
// containers.
func judgeReadiness(pod *v1.Pod, status *v1.PodStatus) {
	containers := containersReady(pod, status)
	setCondition(status, podReady(pod, status, containers))
	setCondition(status, containers)
}

// SetStarted notes a startup result for the container with this ID. It reports
// false, and has changed nothing, if the container is not there, does not run,
// or is known to be so. [ST-8]
func SetStarted(status *v1.PodStatus, containerID string, started bool) bool {
	c := findContainer(status, containerID)
	if c == nil || c.Started != nil && *c.Started == started || started && c.State.Running == nil {
		return false
	}
	c.Started = &started
	return true
}

// findContainer is the status of the regular or init container, or nil.
func findContainer(status *v1.PodStatus, containerID string) *v1.ContainerStatus {
	if containerID == "" {
		return nil
	}
	for _, list := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			if list[i].ContainerID == containerID {
				return &list[i]
			}
		}
	}
	return nil
}

// containersReady is the condition that sidecars and regular containers are
// ready.
func containersReady(pod *v1.Pod, status *v1.PodStatus) v1.PodCondition {
	if isTerminal(status.Phase) {
		return terminalCondition(v1.ContainersReady, status.Phase)
	}
	unknown, unready := unreadyContainers(pod, status)
	var messages []string
	if len(unknown) > 0 {
		messages = append(messages, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(unready) > 0 {
		messages = append(messages, fmt.Sprintf("containers with unready status: %s", unready))
	}
	return verdict(v1.ContainersReady, "ContainersNotReady", messages)
}

// unreadyContainers are the containers that keep the pod from being ready, in
// the order of the spec.
func unreadyContainers(pod *v1.Pod, status *v1.PodStatus) (unknown, unready []string) {
	judge := func(name string, list []v1.ContainerStatus) {
		for i := range list {
			if list[i].Name == name {
				if !list[i].Ready {
					unready = append(unready, name)
				}
				return
			}
		}
		unknown = append(unknown, name)
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			judge(c.Name, status.InitContainerStatuses)
		}
	}
	for i := range pod.Spec.Containers {
		judge(pod.Spec.Containers[i].Name, status.ContainerStatuses)
	}
	return unknown, unready
}

// podReady is the condition that the containers are ready and all readiness
// gates are open.
func podReady(pod *v1.Pod, status *v1.PodStatus, containers v1.PodCondition) v1.PodCondition {
	if containers.Status != v1.ConditionTrue {
		containers.Type = v1.PodReady
		return containers
	}
	var messages []string
	for _, gate := range pod.Spec.ReadinessGates {
		c := condition(status, gate.ConditionType)
		switch {
		case c == nil:
			messages = append(messages, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != v1.ConditionTrue:
			messages = append(messages, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, c.Status))
		}
	}
	return verdict(v1.PodReady, "ReadinessGatesNotReady", messages)
}

// verdict is a condition that is true unless there is something to say.
func verdict(t v1.PodConditionType, reason string, messages []string) v1.PodCondition {
	if len(messages) == 0 {
		return v1.PodCondition{Type: t, Status: v1.ConditionTrue}
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason, Message: strings.Join(messages, ", ")}
}

// terminalCondition is what a readiness condition is in a terminal phase.
func terminalCondition(t v1.PodConditionType, phase v1.PodPhase) v1.PodCondition {
	reason := "PodFailed"
	if phase == v1.PodSucceeded {
		reason = "PodCompleted"
	}
	return v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason}
}
