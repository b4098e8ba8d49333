package podworkers

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// StabilityReporter is an optional part of a PodSyncer. It says of which pods SyncPod has
// nothing to do until something changes, so that they are not synced once a minute all the same.
type StabilityReporter interface {
	// IsStable reports whether SyncPod would find nothing to do and nothing to publish if it
	// were called with this pod and this status, now or at any later time. It is called on
	// the pod's goroutine, after each SyncPod that has returned false and nil, with what that
	// was given. If it returns true, the next time to look at the pod is backoff.Retry.Stable
	// away. Then it is asked again, with a new observation, and if it returns true once more
	// SyncPod is not called. An update of the pod is a SyncPod at once, as always. It must
	// not block. A panic of it counts as false. A PodSyncer that embeds one has its IsStable too,
	// and needs its own if its SyncPod does more.
	IsStable(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) bool
}

// stable reports whether nothing has to be done for a pod until something changes.
func (w *Workers) stable(j *job, status *runtime.PodStatus) (is bool) {
	if w.stability == nil || j.Kind != lifecycle.SyncPod {
		return false
	}
	_ = w.guard.Do("PodSyncer.IsStable", func() { is = w.stability.IsStable(j.ctx, j.pod, status) })
	return is
}
