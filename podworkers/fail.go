package podworkers

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Fail returns a PodStatusFunc that sets the phase Failed, a reason, a message and conditions. It
// does not change a pod that has succeeded or has already failed with a reason: the first terminal
// status is kept.
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

// setCondition replaces the pod condition of the same type in status. If there is none, it appends c.
func setCondition(status *v1.PodStatus, c v1.PodCondition) {
	if old := podstatus.FindCondition(status.Conditions, c.Type); old != nil {
		*old = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}
