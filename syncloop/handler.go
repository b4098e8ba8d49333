package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// SyncHandler handles the events of a loop. One goroutine makes all calls, so two calls never overlap. A slow
// call delays every pod, so no call may wait for a runtime, a file or a network.
type SyncHandler interface {
	// HandlePodAdditions is called with pods that have become desired.
	HandlePodAdditions(ctx context.Context, pods []*v1.Pod)
	// HandlePodUpdates is called with pods whose content has changed, or that have a new deletion timestamp.
	HandlePodUpdates(ctx context.Context, pods []*v1.Pod)
	// HandlePodRemoves is called with pods that a source has removed.
	HandlePodRemoves(ctx context.Context, pods []*v1.Pod)
	// HandlePodReconcile is called with pods whose source has delivered a new version that differs only in the
	// status.
	HandlePodReconcile(ctx context.Context, pods []*v1.Pod)
	// HandlePodSyncs is called with pods that need a sync: the runtime shows a change, a probe has a result,
	// or a sync was requested.
	HandlePodSyncs(ctx context.Context, pods []*v1.Pod)
	// HandlePodCleanups compares all desired pods, all workers and all running pods. It is called after a
	// change, at most once per housekeeping period, and again after a period if it fails.
	HandlePodCleanups(ctx context.Context) error
}

// ChangeHandler is a SyncHandler that separates changes of the runtime from other reasons for a sync. A loop
// calls HandlePodSyncs for both if the handler does not implement it.
type ChangeHandler interface {
	// HandlePodChanges is called instead of HandlePodSyncs with pods that have changed in the runtime. After a
	// failed sync the change may be an effect of that sync.
	HandlePodChanges(ctx context.Context, pods []*v1.Pod)
}
