package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// nodeConditions are those that a node writes. The last one others write too.
var nodeConditions = [...]v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
	v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting, v1.DisruptionTarget,
}

// NodeConditions returns the types of the conditions of a pod that its node writes. All
// others belong to other writers and pass through. DisruptionTarget is the last one; others
// write it too.
func NodeConditions() []v1.PodConditionType { return slices.Clone(nodeConditions[:]) }

// IsNodeCondition reports whether the node of a pod writes conditions of this type.
func IsNodeCondition(t v1.PodConditionType) bool { return slices.Contains(nodeConditions[:], t) }

// isConcluded reports whether Conclude writes conditions of this type. Those that the node
// writes elsewhere come with the pod, like those of others.
func isConcluded(t v1.PodConditionType) bool {
	return IsNodeCondition(t) && t != v1.PodResizePending && t != v1.PodResizeInProgress && t != v1.DisruptionTarget
}
