package syncloop

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodAdditions implements SyncHandler (B-139, SL-15 to SL-21): oldest
// first, each into the manager before anything else, then mirror pairing or
// admission, then the worker.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, pod := range pods {
		h.config.Manager.AddPod(pod)
		if podmanager.IsMirrorPod(pod) {
			h.updateByMirror(pod)
			continue
		}
		delete(h.rejected, pod.UID) // A new addition is a new question.
		if mustAdmit(pod) && !h.admit(pod) {
			continue
		}
		mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
		h.update(podworkers.SyncPodCreate, pod, mirror)
	}
}

// mustAdmit: a pod that is terminal or on its way out will not start anything,
// so nothing can be gained by refusing it (SL-18). That a worker of the same
// UID still terminates is no reason to let a pod in unasked: that is an older
// life, and this one asks for a place when its turn comes.
func mustAdmit(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && !terminal(pod.Status.Phase)
}

// updateByMirror tells a static pod's worker that its mirror has changed. A
// mirror without a static pod is an orphan, which housekeeping finds.
func (h *Handlers) updateByMirror(mirror *v1.Pod) {
	if pod, ok := h.config.Manager.GetPodByMirrorPod(mirror); ok && !h.rejected[pod.UID] {
		h.update(podworkers.SyncPodUpdate, pod, mirror)
	}
}

// admit asks the chain. A refused pod stays in the manager and gets no worker
// (SL-19).
func (h *Handlers) admit(pod *v1.Pod) bool {
	result := admit(h.config.Admit, PodAdmitAttributes{Pod: pod, OtherPods: h.activeBut(pod)})
	if !result.Admit {
		h.reject(pod, result)
	}
	return result.Admit
}

// reject latches the refusal and says so once (SL-20): the status is new, none
// of the old one's conditions or container statuses are carried over.
func (h *Handlers) reject(pod *v1.Pod, result PodAdmitResult) {
	h.rejected[pod.UID] = true
	h.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	h.config.Status.SetPodStatus(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: pod.Status.QOSClass,
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	h.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
}

// activeBut lists the pods that take up room on the node, without one (AD-3).
func (h *Handlers) activeBut(pod *v1.Pod) []*v1.Pod {
	return slices.DeleteFunc(h.config.Manager.GetPods(), func(other *v1.Pod) bool {
		return other.UID == pod.UID || !h.active(other)
	})
}

// active: not known to have terminated, and neither terminal nor rejected
// unless it is still being terminated (HC-7).
func (h *Handlers) active(pod *v1.Pod) bool {
	if h.rejected[pod.UID] {
		return false
	}
	view := h.config.Workers.View(pod.UID)
	if view.IsPodKnownTerminated() {
		return false
	}
	return view.IsPodTerminationRequested() || !h.terminal(pod)
}

// terminal looks at both statuses: the source's and our own.
func (h *Handlers) terminal(pod *v1.Pod) bool {
	if terminal(pod.Status.Phase) {
		return true
	}
	status, ok := h.config.Status.GetPodStatus(pod.UID)
	return ok && terminal(status.Phase)
}

func terminal(phase v1.PodPhase) bool {
	return phase == v1.PodFailed || phase == v1.PodSucceeded
}
