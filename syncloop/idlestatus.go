package syncloop

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// heldStatus is the status of a pod without a worker: it waits, or was refused.
type heldStatus struct {
	pod    *v1.Pod
	status v1.PodStatus
}

// publishStatus publishes the status of a pod without a worker. While a previous incarnation of the UID
// terminates, the stored status belongs to that incarnation: its worker goes on from there, and keeps
// its end. publishStatus then keeps the status of this pod until the previous incarnation has finished.
// The end of the previous incarnation does not count for this pod, not even after a restart.
func (p *unstartedPods) publishStatus(pod *v1.Pod, status v1.PodStatus) {
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
	p.saveRejection(pod)
}

// saveRejection hands over the terminal status of a refused pod for the next agent, as a terminal
// phase never goes back. An API server would keep that status; pods of other sources than files
// and URLs have none here. A static pod is asked for admission again by the next agent. A pod that
// was refused because the node drains may run then, as the pods may that the drain has stopped.
func (p *unstartedPods) saveRejection(pod *v1.Pod) {
	if podmanager.IsStaticPod(pod) || !p.isRejected(pod.UID) {
		return
	}
	if p.readRecord(pod.UID).heldStatus != nil {
		return // The stored status belongs to the incarnation before it.
	}
	status, ok := p.config.Status.GetPodStatus(pod.UID)
	if ok && podstatus.IsTerminal(status.Phase) && status.Reason != rejectedByShutdown.Reason {
		p.config.SaveTerminalStatus(pod, status)
	}
}

// clearRejection drops the record that a pod was refused, and reports whether it was.
func (p *unstartedPods) clearRejection(uid types.UID) bool {
	p.setHeldStatus(uid, nil)
	p.shared.setRefused(uid, false)
	return p.table.ClearRejection(uid)
}
