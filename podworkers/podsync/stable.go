package podsync

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

var _ podworkers.StabilityReporter = (*Syncer)(nil)

// stable is what the last sync pass of a pod was given and has published, if it found
// nothing to do and nothing that waits. A pass that is given the same would find the same: the
// decision and the status depend on nothing else. It is zero for all other pods.
type stable struct {
	pod       *v1.Pod
	status    *runtime.PodStatus
	published *v1.PodStatus // as it is stored
}

// IsStable implements podworkers.StabilityReporter for the SyncPod of this Syncer: give it to
// podworkers.Config.Stability. A pod is stable if nothing of it has changed since a SyncPod that
// found nothing to do. A pod that has volumes, probes or an activeDeadlineSeconds never is, nor
// is any pod if Config.Status is no StatusReader.
func (s *Syncer) IsStable(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) bool {
	s.mu.Lock()
	l := s.mu.lives[pod.UID]
	s.mu.Unlock()
	if l == nil || l.worker != podworkers.IncarnationFrom(ctx) {
		return false
	}
	last := l.stable
	if last.pod != pod || last.status != podStatus || last.published == nil || s.standing(pod) != last.published {
		return false
	}
	return slices.EqualFunc(last.published.HostIPs, s.hostIPs(), func(old v1.HostIP, ip string) bool { return old.IP == ip })
}

// noteStable notes how a sync pass has left a pod for which it found nothing to do.
func (s *Syncer) noteStable(v *syncPass) {
	if changesOnlyByEvents(v.pod) && !s.hasUnfinishedWork(v) {
		v.incarnation.stable = stable{pod: v.pod, status: v.status, published: s.standing(v.pod)}
	}
}

// changesOnlyByEvents reports whether everything that a pod asks for is told by an event when it
// changes. No event tells that a pod is older than its activeDeadlineSeconds, that a probe is due,
// or that files of a volume have changed.
func changesOnlyByEvents(pod *v1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds == nil && len(pod.Spec.Volumes) == 0 && !request.HasProbes(pod)
}

// hasUnfinishedWork reports whether something is to be done, or done again, that is no step of a
// decision: to say, to read or to save.
func (s *Syncer) hasUnfinishedWork(v *syncPass) bool {
	l, kept := v.incarnation, v.incarnation.kept.containers
	return v.untold() || v.unread() ||
		kept != nil && (kept.failed || len(kept.saved) > 0) ||
		s.cfg.TerminalStatuses != nil && l.kept.ending < nothingSaved
}

// standing is the stored status of a pod, to be compared with what it was. Nil: there is none, or
// the store shows copies only, so that it cannot be told whether it is the same.
func (s *Syncer) standing(pod *v1.Pod) (stored *v1.PodStatus) {
	if s.statuses != nil {
		_ = s.guard.Do("Status.ReadPodStatus", func() {
			s.statuses.ReadPodStatus(pod.UID, func(status *v1.PodStatus) { stored = status })
		})
	}
	return stored
}
