package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// isPastActiveDeadline reports whether the activeDeadlineSeconds of the pod are over at now. It returns false
// if the pod has no such deadline. The Syncer starts nothing for a pod past its deadline, even after a restart
// of the agent (P23).
func isPastActiveDeadline(pod *v1.Pod, status *v1.PodStatus, now time.Time) bool {
	at, ok := podspec.ActiveDeadline(pod, status)
	return ok && !now.Before(at)
}
