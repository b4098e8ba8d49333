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

// stable is the input and the published status of the last pass of a pod, if the pass found nothing to do
// and nothing that waits. A pass with the same input would find the same: the decision and the status
// depend on nothing else. It is zero for all other pods.
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
	if last.pod != pod || last.status != podStatus || last.published == nil || s.readStoredStatus(pod) != last.published {
		return false
	}
	return slices.EqualFunc(last.published.HostIPs, s.hostIPs(), func(old v1.HostIP, ip string) bool { return old.IP == ip })
}

// noteStable notes the input and the status of a pass that found nothing to do.
func (p *podSync) noteStable() {
	if changesOnlyByEvents(p.pod) && !p.hasUnfinishedWork() {
		p.incarnation.stable = stable{pod: p.pod, status: p.status, published: p.readStoredStatus(p.pod)}
	}
}

// changesOnlyByEvents reports whether an event follows each change that matters to the pod. No event
// follows when a pod is older than its activeDeadlineSeconds, when a probe is due, or when files of a
// volume change.
func changesOnlyByEvents(pod *v1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds == nil && len(pod.Spec.Volumes) == 0 && !request.HasProbes(pod)
}

// hasUnfinishedWork reports whether something is left to do that is no step of a decision: a start to
// publish, a message to read, a state to save.
func (p *podSync) hasUnfinishedWork() bool {
	l, kept := p.incarnation, p.incarnation.kept.containers
	return l.memory.HasUnpublished() || p.hasUnreadMessage() ||
		kept != nil && (kept.failed || len(kept.saved) > 0) ||
		p.cfg.TerminalStatuses != nil && l.kept.ending < nothingSaved
}

// readStoredStatus returns the pointer to the stored status of a pod, for comparison. It returns nil if
// there is none, or if the store returns copies only.
func (s *Syncer) readStoredStatus(pod *v1.Pod) (stored *v1.PodStatus) {
	if s.statuses != nil {
		_ = s.guard.Call("Status.ReadPodStatus", func() {
			s.statuses.ReadPodStatus(pod.UID, func(status *v1.PodStatus) { stored = status })
		})
	}
	return stored
}
