package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// SyncHandler is what the loop calls. All calls come from one goroutine, so no
// two run at once; a slow one delays every pod, so none of them waits for a
// runtime, a file or a network.
type SyncHandler interface {
	// HandlePodAdditions is called with pods that a source has begun to want.
	HandlePodAdditions(ctx context.Context, pods []*v1.Pod)
	// HandlePodUpdates is called with pods whose content changed, or that are
	// to be deleted gracefully.
	HandlePodUpdates(ctx context.Context, pods []*v1.Pod)
	// HandlePodRemoves is called with pods that a source wants no more.
	HandlePodRemoves(ctx context.Context, pods []*v1.Pod)
	// HandlePodReconcile is called with pods of which only the status differs
	// from what was delivered before.
	HandlePodReconcile(ctx context.Context, pods []*v1.Pod)
	// HandlePodSyncs is called with pods that should be synced again: the
	// runtime shows a change, a probe has a result, or a sync was requested.
	HandlePodSyncs(ctx context.Context, pods []*v1.Pod)
	// HandlePodCleanups compares the whole snapshot: what is desired, what is
	// being worked on, what runs. It is called after something changed, and
	// at most once per housekeeping period; again after a period if it fails.
	HandlePodCleanups(ctx context.Context) error
}

// ChangeHandler is a SyncHandler that handles changes in the runtime apart from other
// reasons to sync a pod. A handler without it gets all of them by HandlePodSyncs.
type ChangeHandler interface {
	// HandlePodChanges is called, in place of HandlePodSyncs, with pods of which the
	// runtime shows a change. After a failed sync that may be its own echo.
	HandlePodChanges(ctx context.Context, pods []*v1.Pod)
}
