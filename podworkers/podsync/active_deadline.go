package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// isPastActiveDeadline reports whether the pod has been active longer than its activeDeadlineSeconds.
// The sync loop is about to terminate such a pod. The Syncer starts nothing for it, so that no
// container starts after a restart of the agent (P23).
func isPastActiveDeadline(pod *v1.Pod, status *v1.PodStatus, now time.Time) bool {
	at, ok := podspec.ActiveDeadline(pod, status)
	return ok && !now.Before(at)
}
