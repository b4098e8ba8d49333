package podworkers

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Fail returns a PodStatusFunc that sets the phase Failed, a reason, a message and
// conditions. A pod that has succeeded, or has Failed for a reason before, keeps that: a
// later end does not replace an earlier one.
func Fail(reason, message string, with ...v1.PodCondition) PodStatusFunc {
	return func(status *v1.PodStatus) {
		if status.Phase == v1.PodSucceeded || status.Phase == v1.PodFailed && status.Reason != "" {
			return
		}
		status.Phase, status.Reason, status.Message = v1.PodFailed, reason, message
		for i := range with {
			setCondition(status, with[i])
		}
	}
}

// setCondition puts a condition in the place of that of its type.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := podstatus.FindCondition(status.Conditions, c.Type); old != nil {
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
