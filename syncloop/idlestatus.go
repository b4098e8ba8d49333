package syncloop

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// heldStatus is the status of a waiting or rejected pod that is published after the previous incarnation of
// its UID has finished.
type heldStatus struct {
	pod    *v1.Pod
	status v1.PodStatus
}

// publishOrHoldStatus publishes the status of a waiting or rejected pod, and saves a rejection for the next
// agent. While an earlier pod with the same UID terminates, it only stores the status, which is published
// later. A first status replaces the stored status of an earlier pod with the UID, and drops that pod's saved
// terminal status.
func (p *unstartedPods) publishOrHoldStatus(pod *v1.Pod, status v1.PodStatus) {
	w := p.readRecord(pod.UID).waiter
	if view := p.config.Workers.View(pod.UID); view.Known && !view.ShouldPodBeFinished() {
		p.setHeldStatus(pod.UID, &heldStatus{pod, status})
		return
	}
	p.setHeldStatus(pod.UID, nil)
	publish := p.config.Status.SetPodStatus
	if _, earlier := p.config.Status.GetPodStatus(pod.UID); earlier && (w == nil || !w.published) {
		publish = p.config.Status.ReplacePodStatus
		p.config.DropTerminalStatus(pod.UID)
	}
	if w != nil {
		w.published = true
	}
	publish(pod, status)
	p.saveRejectionForNextAgent(pod)
}

// saveRejectionForNextAgent calls SaveTerminalStatus with the stored terminal status of a rejected pod, so that
// the next agent does not start the pod. It saves nothing for a static pod, for a rejection because the node
// was Closed, or while publication of the rejection waits for an earlier pod with the UID.
func (p *unstartedPods) saveRejectionForNextAgent(pod *v1.Pod) {
	if podmanager.IsStaticPod(pod) || !p.isRejected(pod.UID) {
		return
	}
	if p.readRecord(pod.UID).heldStatus != nil {
		return // The stored status belongs to the previous incarnation.
	}
	status, ok := p.config.Status.GetPodStatus(pod.UID)
	if ok && podstatus.IsTerminal(status.Phase) && status.Reason != rejectedByShutdown.Reason {
		p.config.SaveTerminalStatus(pod, status)
	}
}

// clearRejection clears the rejection of a pod, and its status that waits for an earlier pod with the UID to
// finish. wasRejected is false if the pod was not rejected.
func (p *unstartedPods) clearRejection(uid types.UID) (wasRejected bool) {
	p.setHeldStatus(uid, nil)
	p.shared.setRejected(uid, false)
	return p.table.ClearRejection(uid)
}
