package syncloop

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// idleStatus is the status of a pod without a worker: it waits, or was refused.
type idleStatus struct {
	pod    *v1.Pod
	status v1.PodStatus
}

// publishIdle publishes the status of a pod without a worker. While a previous incarnation of the UID
// terminates, the stored status belongs to that incarnation: its worker goes on from there, and keeps
// its end. publishIdle then keeps the status of this pod until the previous incarnation has finished.
// The end of the previous incarnation does not count for this pod, not even after a restart.
func (h *Handlers) publishIdle(pod *v1.Pod, status v1.PodStatus) {
	w := h.known(pod.UID).wait
	if view := h.config.Workers.View(pod.UID); view.Known && !view.ShouldPodBeFinished() {
		h.setUnpublished(pod.UID, &idleStatus{pod, status})
		return
	}
	h.setUnpublished(pod.UID, nil)
	publish := h.config.Status.SetPodStatus
	if _, earlier := h.config.Status.GetPodStatus(pod.UID); earlier && (w == nil || !w.published) {
		publish = h.config.Status.ReplacePodStatus
		h.config.DropTerminalStatus(pod.UID)
	}
	if w != nil {
		w.published = true
	}
	publish(pod, status)
	h.saveRefusal(pod)
}

// saveRefusal hands over the terminal status of a refused pod for the next agent, as a terminal
// phase never goes back. An API server would keep that status; pods of other sources than files
// and URLs have none here. A static pod is asked for admission again by the next agent. A pod that
// was refused because the node drains may run then, as the pods may that the drain has stopped.
func (h *Handlers) saveRefusal(pod *v1.Pod) {
	if podmanager.IsStaticPod(pod) || !h.rejected(pod.UID) {
		return
	}
	if h.known(pod.UID).unpublished != nil {
		return // The stored status belongs to the incarnation before it.
	}
	status, ok := h.config.Status.GetPodStatus(pod.UID)
	if ok && podstatus.IsTerminal(status.Phase) && status.Reason != shutdown.Reason {
		h.config.SaveTerminalStatus(pod, status)
	}
}

// dropRefusal drops the record that a pod was refused, and reports whether it was.
func (h *Handlers) dropRefusal(uid types.UID) bool {
	h.setUnpublished(uid, nil)
	h.shared.setRefused(uid, false)
	return h.table.ClearRejection(uid)
}
