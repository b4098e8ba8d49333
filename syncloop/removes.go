package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodRemoves implements SyncHandler. It acts at once and does not wait for other sources: a reported
// removal is certain, unlike a pod that is only missing.
func (h *Handlers) HandlePodRemoves(_ context.Context, pods []*v1.Pod) {
	defer h.updateUsage()
	for _, pod := range pods {
		h.config.Manager.RemovePod(pod)
		r := h.ensureRecord(pod.UID)
		r.retryChange, r.removedBySource, r.hasSavedResources, r.pendingResize, r.unappliedResize = false, true, false, nil, nil
	}
	h.forEachPodMarkPanicked(pods, func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateStaticPodOfMirror(pod)
			return
		}
		unpublished := h.readRecord(pod.UID).heldStatus != nil
		rejected := h.clearRejection(pod.UID)
		if waited := h.stopWaiting(pod.UID); rejected || waited {
			if !unpublished { // Otherwise the stored status belongs to the previous incarnation.
				h.ensureRecord(pod.UID).hasStaleRejection = true
			}
			h.updatePodAllocation(pod.UID)
			return // It never had a worker, so nothing has to be killed.
		}
		h.updateWorker(podworkers.SyncPodKill, pod, nil)
	})
}
