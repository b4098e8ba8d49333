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

// IsStable implements podworkers.StabilityReporter. A pod is stable if nothing of it has changed
// since a SyncPod that found nothing to do. A pod that has volumes, probes or an
// activeDeadlineSeconds never is, nor is any pod if Config.Status is no StatusReader.
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
	if isTimeless(v.pod) && !s.owes(v) {
		v.incarnation.stable = stable{pod: v.pod, status: v.status, published: s.standing(v.pod)}
	}
}

// isTimeless reports whether nothing that a pod asks for is looked at without an event: its
// age is, what its probes say, and whether what was made of its volumes is still there.
func isTimeless(pod *v1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds == nil && len(pod.Spec.Volumes) == 0 && !request.HasProbes(pod)
}

// owes reports whether something is to be done, or done again, that is no step of a decision.
func (s *Syncer) owes(v *syncPass) bool {
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
