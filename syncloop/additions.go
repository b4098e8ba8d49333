package syncloop

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// HandlePodAdditions implements SyncHandler. It stores all pods in the manager before it starts any of them.
// Then it admits the pods and gives each admitted pod a worker: running pods first, then the oldest. Mirror
// pods are handled last.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) { h.addPods(pods) }

// addPods stores new pods in the manager. Each of them then gets a worker, waits for admission, or is rejected;
// a mirror pod instead causes an update of its static pod's worker. If a function of the host program panics
// for a pod, the next housekeeping adds that pod again.
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
	a := &addition{Handlers: h, running: h.runningPodUIDs(), earlierPods: h.podsOfEarlierAgent()}
	ordered := h.sortAdditions(pods, a.running, a.startsAgain)
	desired := slices.Clone(ordered)
	for i, pod := range ordered {
		if h.readRecord(pod.UID).removedBySource { // The saved status belongs to the removed pod.
			h.config.DropTerminalStatus(pod.UID)
		}
		r := h.ensureRecord(pod.UID)
		r.removedBySource, r.pendingResize = false, nil // countUndecidedAndRequestResizes requests the newest resize.
		if !podmanager.IsMirrorPod(pod) {
			ordered[i] = withPendingCondition(a.withAllocatedResourcesIfRunning(withoutResizeConditions(pod)), pod)
		}
		h.config.Manager.AddPod(ordered[i])
	}
	var mirrors []*v1.Pod
	for _, pod := range ordered {
		if podmanager.IsMirrorPod(pod) {
			mirrors = append(mirrors, pod)
			continue
		}
		a.addPod(pod)
	}
	a.countUndecidedAndRequestResizes(ordered, desired)
	h.forEachPodMarkPanicked(mirrors, h.updateStaticPodOfMirror)
}

// addition is one call of addPods.
type addition struct {
	*Handlers
	running     map[types.UID]bool // by UID: the pods that run
	earlierPods map[types.UID]bool // by UID: the pods of an earlier agent
}

// startsAgain reports whether a pod of an earlier agent does not run, and its containers start again because its restart
// policy is Always. It keeps its resources as a running pod does. A pod with another policy may have ended.
func (a *addition) startsAgain(pod *v1.Pod) bool {
	return a.earlierPods[pod.UID] && !a.running[pod.UID] && !podmanager.IsMirrorPod(pod) &&
		(pod.Spec.RestartPolicy == v1.RestartPolicyAlways || pod.Spec.RestartPolicy == "")
}

// countUndecidedAndRequestResizes counts the added pods of an earlier agent that may have ended, and then requests the
// resizes of all added pods. While addPods admits the pods of one call, a job that has ended must not count against
// them. Afterwards each pod counts until its first sync, because otherwise the resize of another pod could take its
// resources, and a resize of the pod itself would find no record. ordered are the stored pods, and desired the same pods
// with the resources of the sources.
func (a *addition) countUndecidedAndRequestResizes(ordered, desired []*v1.Pod) {
	for _, pod := range ordered {
		if r := a.ensureRecord(pod.UID); r.undecided && !podmanager.IsMirrorPod(pod) {
			r.undecided = false
			a.updatePodAllocation(pod.UID)
		}
	}
	for i, pod := range ordered {
		if !podmanager.IsMirrorPod(pod) && !allocation.SameResources(pod, desired[i]) {
			a.requestResize(pod, desired[i], pendingSince(pod, a.config.Clock.Now()))
		}
	}
}

// withAllocatedResourcesIfRunning returns a pod that an earlier agent has started with the resources that this
// agent has saved for it, and any other pod as it is. Before the first listing of the runtime any pod may run.
func (a *addition) withAllocatedResourcesIfRunning(pod *v1.Pod) *v1.Pod {
	if listed, _ := a.config.Runtime.Healthy(); listed && !a.earlierPods[pod.UID] && !a.running[pod.UID] {
		return pod
	}
	return a.withSavedResources(pod)
}

// addPod admits one pod and contains a panic of the host program's functions. After a first panic the next
// housekeeping adds the pod again. After a second panic the pod is rejected, or gets a worker without admission
// if it ran before this process started.
func (a *addition) addPod(pod *v1.Pod) {
	r := a.ensureRecord(pod.UID)
	second := r.retryChange
	r.retryChange = false
	if !a.earlierPods[pod.UID] || a.running[pod.UID] || a.startsAgain(pod) {
		r.undecided = false // The first sync decides whether another pod has terminated.
	}
	var err error
	if fault := a.guard.Call("SyncHandler.HandlePodAdditions", func() { pod, err = a.restoreTerminalStatusAndAdmit(pod) }); fault != nil {
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
		a.recordAndPublishRejection(pod, rejectedByPanic)
	}
}

// restoreTerminalStatusAndAdmit gives the pod the terminal status that an earlier process of the agent has
// saved, if any, and stores that pod in the manager. It then admits, rejects or defers the pod, and returns the
// pod with its status. It returns an error if TerminalStatus, a rule or an admission handler panics.
func (a *addition) restoreTerminalStatusAndAdmit(pod *v1.Pod) (*v1.Pod, error) {
	pod, err := a.withSavedTerminalStatus(pod)
	if err != nil {
		return pod, err
	}
	if now, _ := a.config.Manager.GetPodByUID(pod.UID); now != pod {
		a.config.Manager.AddPod(pod)
	}
	return pod, a.admitAndStartWorker(pod)
}

// withSavedTerminalStatus returns a copy of the pod with the terminal status that an earlier process of the
// agent has saved. It returns the pod itself if none is saved, or if the pod's own status is terminal.
func (a *addition) withSavedTerminalStatus(pod *v1.Pod) (*v1.Pod, error) {
	status, ok, err := a.readTerminalStatus(pod)
	if err != nil || !ok || podstatus.IsTerminal(pod.Status.Phase) {
		return pod, err
	}
	ended := *pod // The source's pod is shared, so it must not be modified.
	ended.Status = status
	return &ended, nil
}

// readTerminalStatus returns the saved status from the host program's TerminalStatus. It returns a panic of
// that function as an error.
func (a *addition) readTerminalStatus(pod *v1.Pod) (status v1.PodStatus, ok bool, err error) {
	defer a.guard.Recover("TerminalStatus", &err)
	status, ok = a.config.TerminalStatus(pod)
	return status, ok, nil
}

// admitAndStartWorker clears an earlier rejection or wait of the UID, decides about the pod, and starts its
// worker if the pod is admitted. A deleted or terminal pod gets a worker without admission. A pod that an
// earlier process of the agent has started also gets a worker without admission. While the node is Closed (it
// drains or shuts down), all pods that are neither deleted nor terminal are rejected or terminated. (AD-8, I42)
func (a *addition) admitAndStartWorker(pod *v1.Pod) error {
	a.clearRejection(pod.UID)
	a.stopWaiting(pod.UID)
	if !skipsAdmission(pod) && a.rejectOrTerminateIfClosed(pod, a.running) {
		return nil
	}
	if !skipsAdmission(pod) && !a.earlierPods[pod.UID] && !a.runsWithoutWorker(pod, a.running) {
		if admitted, err := a.admitRejectOrDeferPod(pod); err != nil || !admitted {
			return err
		}
	}
	a.startWorker(pod)
	return nil
}

// startWorker sends the update that creates the worker of a pod. If the stored status is the rejection of a
// removed pod with the same UID, it first replaces that status by Pending. It also saves the resources of the pod
// for the next agent, and requests its pending resize.
func (h *Handlers) startWorker(pod *v1.Pod) {
	r := h.ensureRecord(pod.UID)
	if r.hasStaleRejection {
		r.hasStaleRejection = false
		h.config.Status.ReplacePodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
	}
	if !skipsAdmission(pod) {
		h.saveResourcesIfUnsaved(r, pod)
	}
	mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
	h.updateWorker(podworkers.SyncPodCreate, pod, mirror)
	h.requestPendingResize(pod)
}

// skipsAdmission reports whether a pod gets a worker without admission. It returns true for a pod that is
// deleted or has a terminal phase, because such a pod starts no container (SL-18).
func skipsAdmission(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil || podstatus.IsTerminal(pod.Status.Phase)
}

// updateStaticPodOfMirror sends an update to the worker of the static pod that a mirror pod belongs to. It does
// nothing if that static pod does not exist, was rejected, waits for admission, or is to be added again after a
// panic.
func (h *Handlers) updateStaticPodOfMirror(mirror *v1.Pod) {
	if pod, ok := h.config.Manager.GetPodByMirrorPod(mirror); ok && !h.isRejectedOrWaiting(pod.UID) && !h.isAdditionRetryPending(pod.UID) {
		h.updateWorker(podworkers.SyncPodUpdate, pod, mirror)
	}
}

// recordAndPublishRejection rejects a pod: it records a warning event, stores the rejection, publishes the
// status Failed, writes a log message and calls the host program's Rejected (SL-20). The published status has
// no conditions and no container statuses.
func (p *unstartedPods) recordAndPublishRejection(pod *v1.Pod, result PodAdmitResult) {
	p.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	p.storeRejectionAndPublishStatus(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: podstatus.QOSClass(pod),
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	p.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
	p.config.Rejected(pod, result.Reason, result.Message)
}

// storeRejectionAndPublishStatus stores that a pod is rejected, and ends its wait for admission if it waits. It
// publishes the given terminal status, and saves it for the next process. While an earlier pod with the same
// UID terminates, it publishes the status later. It publishes at once even then if a status of this pod was
// published before.
func (p *unstartedPods) storeRejectionAndPublishStatus(pod *v1.Pod, status v1.PodStatus) {
	w := p.readRecord(pod.UID).waiter
	own := w != nil && w.published
	p.stopWaiting(pod.UID)
	p.table.Reject(pod.UID)
	p.shared.setRejected(pod.UID, true)
	defer p.updatePodAllocation(pod.UID)
	status.ObservedGeneration = pod.Generation
	if own {
		p.config.Status.SetPodStatus(pod, status)
		p.saveRejectionForNextAgent(pod)
		return
	}
	p.publishOrHoldStatus(pod, status)
}

// isActiveNotRejectedOrWaiting reports whether a pod may use resources of the node. It returns false if the pod
// was rejected or waits for admission, or if its status is terminal and it has no worker (HC-7). It also
// returns false if its worker reports that all containers have stopped. That last rule does not apply if a
// newer pod with the same UID, which was not evicted, starts afterwards.
func (s *podStates) isActiveNotRejectedOrWaiting(pod *v1.Pod) bool {
	if s.isRejectedOrWaiting(pod.UID) {
		return false
	}
	view := s.config.Workers.View(pod.UID)
	if !view.Known {
		return !s.hasTerminalPhase(pod)
	}
	return view.RestartRequested && !view.RestartEvicted || !view.IsPodKnownTerminated()
}

// hasTerminalPhase reports whether the phase is Succeeded or Failed, either in the pod's own status or in the
// status stored under its UID.
func (s *podStates) hasTerminalPhase(pod *v1.Pod) bool {
	if podstatus.IsTerminal(pod.Status.Phase) {
		return true
	}
	status, ok := s.config.Status.GetPodStatus(pod.UID)
	return ok && podstatus.IsTerminal(status.Phase)
}
