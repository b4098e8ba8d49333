package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodUpdates implements SyncHandler. There is no second
// admission. A rejected pod, and one that waits, has no worker to update, until it
// is deleted: then it gets one, which finds nothing to stop and lets it go.
func (h *Handlers) HandlePodUpdates(_ context.Context, pods []*v1.Pod) {
	defer h.updateUsage()
	h.each(h.store(pods), func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateByMirror(pod)
			return
		}
		if h.waits(pod.UID) && pod.DeletionTimestamp == nil {
			h.waitsAs(pod)
			return
		}
		h.waitsNoLonger(pod.UID)
		if h.rejected(pod.UID) && pod.DeletionTimestamp == nil {
			h.saveRefusal(pod)
			return
		}
		if h.unsure(pod.UID) {
			return
		}
		h.told.setRefused(pod.UID, false) // If it was refused it is deleted, and gets a worker.
		h.setUnpublished(pod.UID, nil)
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.update(podworkers.SyncPodUpdate, pod, mirror)
	})
}

// HandlePodReconcile implements SyncHandler. A foreign condition
// may open or close a readiness gate, so a pod with gates is synced; for any
// other a changed status on the far side means nothing.
func (h *Handlers) HandlePodReconcile(_ context.Context, pods []*v1.Pod) {
	h.each(h.store(pods), func(pod *v1.Pod) {
		if len(pod.Spec.ReadinessGates) == 0 || podmanager.IsMirrorPod(pod) || h.idle(pod.UID) || h.unsure(pod.UID) {
			return
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.update(podworkers.SyncPodSync, pod, mirror)
	})
}
