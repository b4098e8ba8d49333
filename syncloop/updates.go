package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodUpdates implements SyncHandler. An admitted pod is not asked for admission again. A pod that was
// rejected or waits has no worker to update. When it is deleted it gets a worker, which finds nothing to stop
// and finishes the pod.
func (h *Handlers) HandlePodUpdates(_ context.Context, pods []*v1.Pod) {
	defer h.updateUsage()
	h.forEachContained(h.storePods(pods), func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateStaticPod(pod)
			return
		}
		if h.awaitsAdmission(pod.UID) && pod.DeletionTimestamp == nil {
			h.updateWaitingPod(pod)
			return
		}
		h.stopWaiting(pod.UID)
		if h.isRejected(pod.UID) && pod.DeletionTimestamp == nil {
			h.saveRejection(pod)
			return
		}
		if h.isAdditionPending(pod.UID) {
			return
		}
		h.shared.setRefused(pod.UID, false) // If it was refused it is deleted, and gets a worker.
		h.setHeldStatus(pod.UID, nil)
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.updateWorker(podworkers.SyncPodUpdate, pod, mirror)
	})
}

// HandlePodReconcile implements SyncHandler. It syncs pods with readiness gates, because a condition that
// another program has set may open or close a gate. For other pods a change of the source's status has no
// effect.
func (h *Handlers) HandlePodReconcile(_ context.Context, pods []*v1.Pod) {
	h.forEachContained(h.storePods(pods), func(pod *v1.Pod) {
		if len(pod.Spec.ReadinessGates) == 0 || podmanager.IsMirrorPod(pod) || h.isUnstarted(pod.UID) || h.isAdditionPending(pod.UID) {
			return
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.updateWorker(podworkers.SyncPodSync, pod, mirror)
	})
}
