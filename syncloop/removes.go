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
		r := h.record(pod.UID)
		r.repeat, r.removed = false, true
	}
	h.each(pods, func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateByMirror(pod)
			return
		}
		unpublished := h.known(pod.UID).unpublished != nil
		rejected := h.dropRefusal(pod.UID)
		if waited := h.waitsNoLonger(pod.UID); rejected || waited {
			if !unpublished { // Otherwise the stored status belongs to the incarnation before it.
				h.record(pod.UID).departed = true
			}
			h.observe(pod.UID)
			return // It never had a worker: there is nothing to end.
		}
		h.update(podworkers.SyncPodKill, pod, nil)
	})
}
