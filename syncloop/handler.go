package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// SyncHandler is what the loop calls. All calls come from one goroutine, so no
// two run at once; a slow one delays every pod, so none of them waits for a
// runtime, a file or a network.
type SyncHandler interface {
	// HandlePodAdditions is called with pods that have become desired.
	HandlePodAdditions(ctx context.Context, pods []*v1.Pod)
	// HandlePodUpdates is called with pods whose content changed, or that are
	// to be deleted gracefully.
	HandlePodUpdates(ctx context.Context, pods []*v1.Pod)
	// HandlePodRemoves is called with pods that a source no longer desires.
	HandlePodRemoves(ctx context.Context, pods []*v1.Pod)
	// HandlePodReconcile is called with pods that differ only in the status from the version that the
	// source delivered before.
	HandlePodReconcile(ctx context.Context, pods []*v1.Pod)
	// HandlePodSyncs is called with pods that should be synced again: the
	// runtime shows a change, a probe has a result, or a sync was requested.
	HandlePodSyncs(ctx context.Context, pods []*v1.Pod)
	// HandlePodCleanups compares all desired pods, all workers and all running pods. It is called after a
	// change, at most once per housekeeping period, and again after a period if it fails.
	HandlePodCleanups(ctx context.Context) error
}

// ChangeHandler is a SyncHandler that handles changes in the runtime apart from other
// reasons to sync a pod. A handler without it gets all of them by HandlePodSyncs.
type ChangeHandler interface {
	// HandlePodChanges is called, in place of HandlePodSyncs, with pods for which the runtime shows a
	// change. After a failed sync the change may be the echo of that sync.
	HandlePodChanges(ctx context.Context, pods []*v1.Pod)
}
