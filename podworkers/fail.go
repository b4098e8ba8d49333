package podworkers

import v1 "k8s.io/api/core/v1"

// Fail returns a PodStatusFunc by which a pod has Failed for a reason, with some
// conditions set (PH-11). A pod that has succeeded, or has Failed for a reason
// before, keeps that: whoever ends a pod second has not ended it, and what was
// said is not taken back.
func Fail(reason, message string, conditions ...v1.PodCondition) PodStatusFunc {
	return func(status *v1.PodStatus) {
		if status.Phase == v1.PodSucceeded || status.Phase == v1.PodFailed && status.Reason != "" {
			return
		}
		status.Phase, status.Reason, status.Message = v1.PodFailed, reason, message
		for i := range conditions {
			setCondition(status, conditions[i])
		}
	}
}

// setCondition puts a condition in the place of that of its type.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == c.Type {
			status.Conditions[i] = c
			return
		}
	}
	status.Conditions = append(status.Conditions, c)
}
