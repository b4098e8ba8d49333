package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodRemoves implements SyncHandler. It waits for no other source: a source has reported the removal,
// which is more than the absence of a pod.
func (h *Handlers) HandlePodRemoves(_ context.Context, pods []*v1.Pod) {
	defer h.updateUsage()
	for _, pod := range pods {
		h.config.Manager.RemovePod(pod)
		r := h.ensureRecord(pod.UID)
		r.retryChange, r.removedBySource = false, true
	}
	h.forEachContained(pods, func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateStaticPod(pod)
			return
		}
		unpublished := h.readRecord(pod.UID).heldStatus != nil
		rejected := h.clearRejection(pod.UID)
		if waited := h.stopWaiting(pod.UID); rejected || waited {
			if !unpublished { // Otherwise the stored status belongs to the incarnation before it.
				h.ensureRecord(pod.UID).hasStaleRejection = true
			}
			h.observePod(pod.UID)
			return // It never had a worker: there is nothing to end.
		}
		h.updateWorker(podworkers.SyncPodKill, pod, nil)
	})
}
