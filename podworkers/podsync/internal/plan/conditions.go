package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/conditions"
)

// owned are the conditions that we write; all others belong to somebody else.
var owned = [...]v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
}

// podConditions are ours, then those of others as they came with the pod. Their
// transition times are for whoever stores the status to set.
func podConditions(s *v1.PodStatus, in *StatusInput, sandbox place) []v1.PodCondition {
	containers := conditions.ContainersReady(in.Pod, s)
	ours := []v1.PodCondition{
		readyToStart(sandbox), conditions.Initialized(in.Pod, s), conditions.Ready(in.Pod, in.Pod.Status.Conditions, containers), containers,
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
