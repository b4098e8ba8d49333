package podworkers

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// StabilityReporter reports for which pods the SyncPod of Config.Syncer has nothing to do until
// something changes. The workers do not sync such pods in every resync interval.
type StabilityReporter interface {
	// IsStable reports whether SyncPod would find nothing to do and nothing to publish if it were
	// called with this pod and this status, now or at any later time. The pod's goroutine calls it
	// after each SyncPod that has returned false and nil, with the pod, the status and the context
	// of that call. If it returns true, the pod is due after backoff.Retry.Stable instead of
	// backoff.Retry.Resync. At that time IsStable is called first, with a new observation, and
	// SyncPod is called only if it returns false. An update of the pod is always followed by a
	// SyncPod. IsStable must not block. A panic counts as false.
	IsStable(ctx context.Context, pod *v1.Pod, podStatus *runtime.PodStatus) bool
}

// isSyncUnneededByStability calls Config.Stability and returns its result; true says that a sync of the job's
// pod has nothing to do. It returns false if Stability is not set, if Stability panics, or if the lifecycle
// table needs no such check now. result is the result of the syncer's call, or zero before that call.
func (w *Workers) isSyncUnneededByStability(j *job, result lifecycle.Result) bool {
	return w.config.Stability != nil && j.ShouldCheckStable(result) && contain.CallOrDefault(w.guard, "Stability.IsStable", false, func() bool {
		return w.config.Stability.IsStable(j.ctx, j.pod, j.status)
	})
}
