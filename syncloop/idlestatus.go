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

// publishStatus publishes the status of a waiting or rejected pod. While a previous incarnation of the UID
// terminates, the stored status belongs to that incarnation, so publishStatus holds the new status back until
// the incarnation has finished. The terminal status of the previous incarnation does not count for this pod,
// even after a restart.
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

// saveRejection saves the terminal status of a rejected pod for the next agent, because a terminal phase must
// never change. An API server keeps the status of its pods; pods of other sources have no such store. A static
// pod is admitted again by the next agent. A pod that was rejected because the node drains is not saved,
// because the pods that the drain has stopped run again too.
func (p *unstartedPods) saveRejection(pod *v1.Pod) {
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

// clearRejection clears the rejection of a pod, and reports whether the pod was rejected.
func (p *unstartedPods) clearRejection(uid types.UID) bool {
	p.setHeldStatus(uid, nil)
	p.shared.setRefused(uid, false)
	return p.table.ClearRejection(uid)
}
