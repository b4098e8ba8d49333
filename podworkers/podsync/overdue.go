package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// overdue reports whether the pod has been active for longer than its spec allows. The loop is about to
// terminate it. Until then nothing is started: after a restart of the agent no container may run (P23).
func overdue(pod *v1.Pod, status *v1.PodStatus, now time.Time) bool {
	at, ok := podspec.ActiveDeadline(pod, status)
	return ok && !now.Before(at)
}
