package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// overdue: the pod has been active for longer than its spec allows. Whoever
// watches deadlines is about to end it, and until then nothing is started, as
// after a restart of the agent, when nothing of the pod may run any more (P23).
func overdue(pod *v1.Pod, status *v1.PodStatus, now time.Time) bool {
	at, ok := podspec.Deadline(pod, status)
	return ok && !now.Before(at)
}
