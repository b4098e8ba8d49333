package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// nodeConditionTypes are the types of the conditions that a node writes. Others also write the last
// one.
var nodeConditionTypes = [...]v1.PodConditionType{
	v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
	v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting, v1.DisruptionTarget,
}

// NodeConditions returns the types of the conditions of a pod that its node writes. Other writers
// own all other conditions, which the node copies. Others also write DisruptionTarget, the last
// one.
func NodeConditions() []v1.PodConditionType { return slices.Clone(nodeConditionTypes[:]) }

// IsNodeCondition reports whether the node of a pod writes conditions of this type.
func IsNodeCondition(t v1.PodConditionType) bool { return slices.Contains(nodeConditionTypes[:], t) }

// IsTransition reports whether a condition of one type differs so much from the one before that it gets another
// LastTransitionTime: in its Status, and for PodResizePending and PodResizeInProgress also in its Reason.
func IsTransition(before, after *v1.PodCondition) bool {
	isResize := after.Type == v1.PodResizePending || after.Type == v1.PodResizeInProgress
	return before.Status != after.Status || isResize && before.Reason != after.Reason
}

// isConditionOfConclude reports whether Conclude computes conditions of this type. Conclude copies conditions
// of other types.
func isConditionOfConclude(t v1.PodConditionType) bool {
	return IsNodeCondition(t) && t != v1.PodResizePending && t != v1.PodResizeInProgress && t != v1.DisruptionTarget
}
