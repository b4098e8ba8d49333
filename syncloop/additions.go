package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodAdditions implements SyncHandler. It stores all pods in the manager before it starts any of them.
// Then it admits the pods and gives each admitted pod a worker: running pods first, then the oldest. Mirror
// pods are handled last.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) { h.addPods(pods) }

// addPods adds the pods to the manager, and for each pod starts a worker, stores that it waits, or rejects it.
// If TerminalStatus or an admission handler panics for a pod, the next housekeeping adds that pod again, once.
// For a mirror pod, addPods updates the worker of its static pod instead.
func (h *Handlers) addPods(pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	for _, pod := range pods {
		h.ensureRecord(pod.UID).undecided = true
		h.table.MarkChanged(pod.UID)
	}
	defer h.updateUsage()
	defer func() {
		for _, pod := range pods {
			h.ensureRecord(pod.UID).undecided = false
		}
	}()
	h.updateAllocationsFromRuntime(h.config.Runtime.Pods())
	h.updateAllocationsOfChangedWorkers()
	a := &addition{Handlers: h, running: h.runningPods(), earlierPods: h.podsOfEarlierAgent()}
	ordered := h.sortAdditions(pods, a.running)
	for _, pod := range ordered {
		if h.readRecord(pod.UID).removedBySource { // The saved status belongs to the removed pod.
			h.config.DropTerminalStatus(pod.UID)
		}
		h.ensureRecord(pod.UID).removedBySource = false
		h.config.Manager.AddPod(pod)
	}
	var mirrors []*v1.Pod
	for _, pod := range ordered {
		if podmanager.IsMirrorPod(pod) {
			mirrors = append(mirrors, pod)
			continue
		}
		a.addPod(pod)
	}
	h.forEachContained(mirrors, h.updateStaticPodOfMirror)
}

// addition is one call of addPods.
type addition struct {
	*Handlers
	running     map[types.UID]bool // by UID: the pods that run
	earlierPods map[types.UID]bool // by UID: the pods of an earlier agent
}

// addPod adds one pod. After a first panic of a function of the host program the next housekeeping adds the pod
// again. After a second panic a pod that the runtime had before this process started gets a worker, and any
// other pod is rejected.
func (a *addition) addPod(pod *v1.Pod) {
	r := a.ensureRecord(pod.UID)
	second := r.retryChange
	r.retryChange = false
	if !a.earlierPods[pod.UID] || a.running[pod.UID] {
		r.undecided = false // The first sync decides whether another pod has terminated.
	}
	var err error
	if fault := a.guard.Call("SyncHandler.HandlePodAdditions", func() { pod, err = a.addWithTerminalStatus(pod) }); fault != nil {
		err = fault
	}
	switch {
	case err == nil:
	case !second:
		a.config.Log.Error("the addition of a pod panicked and is repeated by the next housekeeping", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		a.ensureRecord(pod.UID).retryChange = true
		a.updatePodAllocation(pod.UID)
	case a.earlierPods[pod.UID] || a.runsWithoutWorker(pod, a.running):
		a.startWorker(pod)
	default:
		a.rejectPod(pod, rejectedByPanic)
	}
}

// addWithTerminalStatus starts or rejects a pod, after it has replaced the pod's status by the terminal status
// that an earlier agent has saved, if one is saved. It returns the pod with that status. It returns an error if
// TerminalStatus or an admission handler panics.
func (a *addition) addWithTerminalStatus(pod *v1.Pod) (*v1.Pod, error) {
	pod, err := a.withTerminalStatus(pod)
	if err != nil {
		return pod, err
	}
	if now, _ := a.config.Manager.GetPodByUID(pod.UID); now != pod {
		a.config.Manager.AddPod(pod)
	}
	return pod, a.admitAndStart(pod)
}

// withTerminalStatus returns a copy of the pod with the saved terminal status, or the pod itself if none is
// saved or its own status is terminal. A pod with a terminal status does not run again.
func (a *addition) withTerminalStatus(pod *v1.Pod) (*v1.Pod, error) {
	status, ok, err := a.readTerminalStatus(pod)
	if err != nil || !ok || podstatus.IsTerminal(pod.Status.Phase) {
		return pod, err
	}
	ended := *pod // The source's pod is shared, so it must not be modified.
	ended.Status = status
	return &ended, nil
}

// readTerminalStatus calls TerminalStatus and returns its panic as an error.
func (a *addition) readTerminalStatus(pod *v1.Pod) (status v1.PodStatus, ok bool, err error) {
	defer a.guard.Recover("TerminalStatus", &err)
	status, ok = a.config.TerminalStatus(pod)
	return status, ok, nil
}

// admitAndStart starts the worker of a pod that needs no admission or is admitted. It clears an earlier
// rejection or wait of the UID first. A pod that an earlier agent has started needs no admission, because that
// agent has admitted it (AD-8, I42).
func (a *addition) admitAndStart(pod *v1.Pod) error {
	a.clearRejection(pod.UID)
	a.stopWaiting(pod.UID)
	if !skipsAdmission(pod) && a.rejectOrTerminateIfClosed(pod, a.running) {
		return nil
	}
	if !skipsAdmission(pod) && !a.earlierPods[pod.UID] && !a.runsWithoutWorker(pod, a.running) {
		if admitted, err := a.admitPod(pod); err != nil || !admitted {
			return err
		}
	}
	a.startWorker(pod)
	return nil
}

// startWorker creates the worker of a pod. If the stored status is the rejection of a removed pod with the same
// UID, it first replaces that status by Pending.
func (h *Handlers) startWorker(pod *v1.Pod) {
	if r := h.ensureRecord(pod.UID); r.hasStaleRejection {
		r.hasStaleRejection = false
		h.config.Status.ReplacePodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
	}
	mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
	h.updateWorker(podworkers.SyncPodCreate, pod, mirror)
}

// skipsAdmission reports whether a pod gets a worker without admission: it is deleted or terminal, so it
// starts no container (SL-18). A pod whose UID a terminating worker has is still admitted, because that worker
// has a previous incarnation.
func skipsAdmission(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil || podstatus.IsTerminal(pod.Status.Phase)
}

// updateStaticPodOfMirror sends an update to the worker of the static pod that a changed mirror pod belongs to.
// It does nothing if that pod does not exist, was rejected, waits for admission, or is still to be added again
// after a panic.
func (h *Handlers) updateStaticPodOfMirror(mirror *v1.Pod) {
	if pod, ok := h.config.Manager.GetPodByMirrorPod(mirror); ok && !h.isUnstarted(pod.UID) && !h.isAdditionPending(pod.UID) {
		h.updateWorker(podworkers.SyncPodUpdate, pod, mirror)
	}
}

// rejectPod rejects a pod: it records an event, stores the rejection, publishes the status Failed and calls the
// host program's Rejected (SL-20). The published status has no conditions or container statuses.
func (p *unstartedPods) rejectPod(pod *v1.Pod, result PodAdmitResult) {
	p.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	p.storeAndPublishRejection(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: podstatus.QOSClass(pod),
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	p.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
	p.config.Rejected(pod, result.Reason, result.Message)
}

// storeAndPublishRejection stores that a pod is rejected, ends its wait if it waits, and publishes its terminal
// status. A waiting pod whose Pending status was published gets the terminal status at once;
// publishOrHoldStatus publishes any other.
func (p *unstartedPods) storeAndPublishRejection(pod *v1.Pod, status v1.PodStatus) {
	w := p.readRecord(pod.UID).waiter
	own := w != nil && w.published
	p.stopWaiting(pod.UID)
	p.table.Reject(pod.UID)
	p.shared.setRejected(pod.UID, true)
	defer p.updatePodAllocation(pod.UID)
	status.ObservedGeneration = pod.Generation
	if own {
		p.config.Status.SetPodStatus(pod, status)
		p.saveRejection(pod)
		return
	}
	p.publishOrHoldStatus(pod, status)
}

// isActive reports whether a pod runs or should run (HC-7). A rejected or waiting pod is not active. A pod with
// a worker is active until the worker knows that its containers have stopped, or if it restarts afterwards; a
// pod without a worker is active unless its status is terminal.
func (s *podStates) isActive(pod *v1.Pod) bool {
	if s.isUnstarted(pod.UID) {
		return false
	}
	view := s.config.Workers.View(pod.UID)
	if !view.Known {
		return !s.isTerminal(pod)
	}
	return view.RestartRequested && !view.RestartEvicted || !view.IsPodKnownTerminated()
}

// isTerminal reports whether the phase in the pod's own status, or in the stored status, is Succeeded or
// Failed.
func (s *podStates) isTerminal(pod *v1.Pod) bool {
	if podstatus.IsTerminal(pod.Status.Phase) {
		return true
	}
	status, ok := s.config.Status.GetPodStatus(pod.UID)
	return ok && podstatus.IsTerminal(status.Phase)
}
