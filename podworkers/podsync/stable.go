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

// stableInput has the pointers to the input and to the published status of the last sync of a pod, if
// that pass found nothing to do and nothing to wait for. A pass with the same input would do the same,
// because the decision and the status depend on nothing else. It is zero for all other pods.
type stableInput struct {
	pod       *v1.Pod
	status    *runtime.PodStatus
	published *v1.PodStatus // the pointer that the status store has
	at        int64         // the time of the pass, in nanoseconds since 1970
}

// IsStable implements podworkers.StabilityReporter for the SyncPod of this Syncer: pass it to
// podworkers.Config.Stability. A pod is stable if nothing of it has changed since a SyncPod that found
// nothing to do. IsStable compares the pointers pod and podStatus, and not what they point to. So an
// equal copy is not stable. A pod that has volumes, probes or an activeDeadlineSeconds is never stable.
// No pod is stable if Config.Status is no StatusReader. With Config.Cgroups a pod is stable for at most
// CgroupCheckPeriod.
func (s *Syncer) IsStable(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) bool {
	s.mu.Lock()
	inc := s.mu.incarnations[pod.UID]
	s.mu.Unlock()
	if inc == nil || inc.workerIncarnation != podworkers.IncarnationFrom(ctx) {
		return false
	}
	last := inc.stableInput
	if s.cfg.Cgroups != nil && s.executor.Now().UnixNano()-last.at >= int64(CgroupCheckPeriod) {
		return false
	}
	if last.pod != pod || last.status != podStatus || last.published == nil || s.storedStatusPointer(pod) != last.published {
		return false
	}
	return slices.EqualFunc(last.published.HostIPs, s.hostIPs(), func(old v1.HostIP, ip string) bool { return old.IP == ip })
}

// storeStableInputIfIdle stores the pod, its runtime status and its published status, so that IsStable can skip
// a sync with the same input. It stores nothing if the pod has an activeDeadlineSeconds, volumes or probes, or
// if a later sync has work to do.
func (p *podSync) storeStableInputIfIdle() {
	if canBeStable(p.pod) && !p.hasUnfinishedWork() {
		p.incarnation.stableInput = stableInput{pod: p.pod, status: p.status, published: p.storedStatusPointer(p.pod), at: p.executor.Now().UnixNano()}
	}
}

// canBeStable reports whether the pod has no activeDeadlineSeconds, no volumes and no probes. Such a pod needs
// a sync only after a new spec or a new runtime status.
func canBeStable(pod *v1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds == nil && len(pod.Spec.Volumes) == 0 && !request.HasProbes(pod)
}

// hasUnfinishedWork reports whether a later sync has work besides the steps of a decision: a container start to
// publish, a termination message to read, or saved states or statuses to update.
func (p *podSync) hasUnfinishedWork() bool {
	inc, kept := p.incarnation, p.incarnation.persisted.containers
	return inc.memory.HasUnpublishedStart() || p.hasUnreadMessage() || p.oomReader != nil && p.hasUnexaminedOOM() ||
		kept != nil && (kept.saveFailed || len(kept.saved) > 0) ||
		p.cfg.TerminalStatuses != nil && inc.persisted.terminalStatus < nothingSaved
}

// storedStatusPointer returns the pointer under which the status store has the status of a pod, for
// comparisons. It returns nil if the store has no status, panics, or is not a StatusReader.
func (s *Syncer) storedStatusPointer(pod *v1.Pod) (stored *v1.PodStatus) {
	if s.statuses != nil {
		_ = s.guard.Call("Status.ReadPodStatus", func() {
			s.statuses.ReadPodStatus(pod.UID, func(status *v1.PodStatus) { stored = status })
		})
	}
	return stored
}
