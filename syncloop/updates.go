package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodUpdates implements SyncHandler. An admitted pod is not admitted again. A rejected or waiting pod
// has no worker to update. When such a pod is deleted it gets a worker, which has nothing to stop and finishes
// the pod.
func (h *Handlers) HandlePodUpdates(_ context.Context, pods []*v1.Pod) {
	defer h.updateUsage()
	h.forEachPodMarkPanicked(h.storePods(pods), func(pod *v1.Pod) {
		if podmanager.IsMirrorPod(pod) {
			h.updateStaticPodOfMirror(pod)
			return
		}
		if h.awaitsAdmission(pod.UID) && pod.DeletionTimestamp == nil {
			h.updateWaitingPod(pod)
			return
		}
		h.stopWaiting(pod.UID)
		if h.isRejected(pod.UID) && pod.DeletionTimestamp == nil {
			h.saveRejectionForNextAgent(pod)
			return
		}
		if h.isAdditionRetryPending(pod.UID) {
			return
		}
		h.shared.setRejected(pod.UID, false) // A rejected pod gets here only if it is deleted, and then gets a worker.
		h.setHeldStatus(pod.UID, nil)
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.updateWorker(podworkers.SyncPodUpdate, pod, mirror)
	})
}

// HandlePodReconcile implements SyncHandler. It syncs pods with readiness gates, because another program may
// have changed the condition of a gate. A changed source status has no effect on other pods.
func (h *Handlers) HandlePodReconcile(_ context.Context, pods []*v1.Pod) {
	h.forEachPodMarkPanicked(h.storePods(pods), func(pod *v1.Pod) {
		if len(pod.Spec.ReadinessGates) == 0 || podmanager.IsMirrorPod(pod) || h.isRejectedOrWaiting(pod.UID) || h.isAdditionRetryPending(pod.UID) {
			return
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.updateWorker(podworkers.SyncPodSync, pod, mirror)
	})
}
