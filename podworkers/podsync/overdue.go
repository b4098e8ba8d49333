package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// overdue: the pod has been active for longer than its spec allows. Whoever
// watches deadlines is about to end it, and until then nothing is started, as
// after a restart of the agent, when nothing of the pod may run any more (P23).
func overdue(pod *v1.Pod, status *v1.PodStatus, now time.Time) bool {
	deadline := pod.Spec.ActiveDeadlineSeconds
	return deadline != nil && !status.StartTime.IsZero() && now.Sub(status.StartTime.Time)/time.Second >= time.Duration(max(*deadline, 0))
}
