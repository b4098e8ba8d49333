package plan

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The reasons of conditions.
const (
	reasonPodCompleted   = "PodCompleted"
	reasonPodFailed      = "PodFailed"
	reasonNotReady       = "ContainersNotReady"
	reasonNotInitialized = "ContainersNotInitialized"
	reasonGatesNotReady  = "ReadinessGatesNotReady"
)

// owned are the conditions that we write; all others belong to somebody else.
var owned = [...]v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
}

// conditions are ours, then those of others as they came with the pod. Their
// transition times are for whoever stores the status to set.
func conditions(s *v1.PodStatus, in *StatusInput, sandbox place) []v1.PodCondition {
	containers := containersReady(s, in.Pod)
	ours := []v1.PodCondition{
		readyToStart(sandbox), initialized(s, in.Pod), ready(containers, in.Pod), containers,
		{Type: v1.PodScheduled, Status: v1.ConditionTrue},
	}
	for i := range ours {
		ours[i].ObservedGeneration = in.Pod.Generation
	}
	for i := range in.Old.Conditions {
		if c := &in.Old.Conditions[i]; c.Type == v1.DisruptionTarget {
			ours = append(ours, *c)
		}
	}
	for i := range in.Pod.Status.Conditions {
		if c := &in.Pod.Status.Conditions[i]; c.Type != v1.DisruptionTarget && !isOwned(c.Type) {
			ours = append(ours, *c)
		}
	}
	return ours
}

func isOwned(t v1.PodConditionType) bool {
	for _, o := range owned {
		if t == o {
			return true
		}
	}
	return false
}

// readyToStart says whether the sandbox is one in which containers can start.
func readyToStart(sandbox place) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionFalse}
	if sandbox.replace == "" {
		c.Status = v1.ConditionTrue
	}
	return c
}

// initialized says whether the init containers are done, which they are for
// good once a regular container has started.
func initialized(s *v1.PodStatus, pod *v1.Pod) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if s.Phase == v1.PodSucceeded {
		c.Reason = reasonPodCompleted
		return c
	}
	if anyStarted(s.ContainerStatuses) {
		return c
	}
	if names := unready(s.InitContainerStatuses, pod.Spec.InitContainers); len(names) > 0 {
		c.Status, c.Reason = v1.ConditionFalse, reasonNotInitialized
		c.Message = fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(names, " "))
	}
	return c
}

func anyStarted(statuses []v1.ContainerStatus) bool {
	for i := range statuses {
		s := &statuses[i]
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return false
}

// containersReady says whether every regular container is ready.
func containersReady(s *v1.PodStatus, pod *v1.Pod) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	names := unready(s.ContainerStatuses, pod.Spec.Containers)
	switch {
	case s.Phase == v1.PodSucceeded:
		c.Reason = reasonPodCompleted
	case s.Phase == v1.PodFailed:
		c.Reason = reasonPodFailed
	case len(names) > 0:
		c.Reason = reasonNotReady
		c.Message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " "))
	default:
		c.Status = v1.ConditionTrue
	}
	return c
}

// ready is containersReady and all readiness gates, which others open by
// conditions of their own.
func ready(containers v1.PodCondition, pod *v1.Pod) v1.PodCondition {
	c := containers
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		return c
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		if !isTrue(pod.Status.Conditions, gate.ConditionType) {
			closed = append(closed, string(gate.ConditionType))
		}
	}
	if len(closed) > 0 {
		c.Status, c.Reason = v1.ConditionFalse, reasonGatesNotReady
		c.Message = fmt.Sprintf("readiness gates without a true condition: [%s]", strings.Join(closed, " "))
	}
	return c
}

func isTrue(conditions []v1.PodCondition, t v1.PodConditionType) bool {
	for i := range conditions {
		if conditions[i].Type == t {
			return conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

// unready names the containers without a ready status, in the order of the
// spec. Each has a status.
func unready(statuses []v1.ContainerStatus, containers []v1.Container) []string {
	var names []string
	for i := range containers {
		if !find(statuses, containers[i].Name).Ready {
			names = append(names, containers[i].Name)
		}
	}
	return names
}
