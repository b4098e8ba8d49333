package syncloop

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/conditions"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodAdditions implements SyncHandler (B-139, SL-15 to SL-21): what runs
// already first, then the oldest; each into the manager before anything else,
// then mirror pairing or admission, then the worker.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) {
	others, running, left := h.activeBut(pods), h.running(), h.leftBehind()
	for _, pod := range h.inOrder(pods, running) {
		pod = h.asItEnded(pod)
		h.config.Manager.AddPod(pod)
		if podmanager.IsMirrorPod(pod) {
			h.updateByMirror(pod)
			continue
		}
		h.add(pod, others, running, left[pod.UID])
		if h.active(pod) && !(left[pod.UID] && !running[pod.UID]) {
			others = append(others, pod)
		}
	}
}

// asItEnded is the pod with how it had ended before this process, if that is known
// and the source does not say so itself. It is terminal then, as one of an API
// server that keeps statuses, and does not run again.
func (h *Handlers) asItEnded(pod *v1.Pod) *v1.Pod {
	if podmanager.IsMirrorPod(pod) {
		return pod
	}
	status, ok := h.config.Ended(pod)
	if !ok || conditions.IsTerminal(pod.Status.Phase) {
		return pod
	}
	ended := *pod // What is shared is only read.
	ended.Status = status
	return &ended
}

// add gives a pod a worker, unless it is refused. Each addition is a new
// question, whatever became of the UID before under this agent. A pod that ran
// under another one, and has left something behind, was admitted there: whether
// it is over is not for admission to say (AD-8, I42).
func (h *Handlers) add(pod *v1.Pod, others []*v1.Pod, running map[types.UID]bool, left bool) {
	delete(h.rejected, pod.UID)
	if mustAdmit(pod) && h.closed(pod, running) {
		return
	}
	if mustAdmit(pod) && !left && !h.ranBefore(pod, running) && !h.admit(pod, others) {
		return
	}
	mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
	h.update(podworkers.SyncPodCreate, pod, mirror)
}

// mustAdmit: a pod that is terminal or on its way out will not start anything,
// so nothing can be gained by refusing it (SL-18). That a worker of the same
// UID still terminates is no reason to let a pod in unasked: that is an older
// life, and this one asks for a place when its turn comes.
func mustAdmit(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && !conditions.IsTerminal(pod.Status.Phase)
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
func (h *Handlers) admit(pod *v1.Pod, others []*v1.Pod) bool {
	result, fault := admit(h.config.Admit, PodAdmitAttributes{Pod: pod, OtherPods: others})
	if fault != nil {
		h.config.Log.Error("an admission handler panicked", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", fault)
	}
	if !result.Admit {
		h.reject(pod, result)
	}
	return result.Admit
}

// reject latches the refusal and says so once (SL-20): the status is new, none
// of the old one's conditions or container statuses are carried over. What is
// stored already was said of an earlier life of the UID and binds this one to
// nothing.
func (h *Handlers) reject(pod *v1.Pod, result PodAdmitResult) {
	h.rejected[pod.UID] = true
	h.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	publish := h.config.Status.SetPodStatus
	if _, earlier := h.config.Status.GetPodStatus(pod.UID); earlier {
		publish = h.config.Status.ReplacePodStatus
	}
	publish(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: pod.Status.QOSClass,
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	h.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
}

// activeBut lists the pods that take up room on the node, without some (AD-3).
func (h *Handlers) activeBut(pods []*v1.Pod) []*v1.Pod {
	without := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		without[pod.UID] = true
	}
	return slices.DeleteFunc(h.config.Manager.GetPods(), func(other *v1.Pod) bool {
		return without[other.UID] || !h.active(other)
	})
}

// active: the pod takes up room, or has a right to (HC-7). A rejected one has
// none. Of a pod that has a worker only that knows: a stored status that says
// terminal may be that of an earlier life, and a pod that waits for the end of
// that life has been admitted.
func (h *Handlers) active(pod *v1.Pod) bool {
	if h.rejected[pod.UID] {
		return false
	}
	view := h.config.Workers.View(pod.UID)
	if !view.Known() {
		return !h.terminal(pod)
	}
	return view.RestartRequested() && !view.RestartEvicted() || !view.IsPodKnownTerminated()
}

// terminal looks at both statuses: the source's and our own.
func (h *Handlers) terminal(pod *v1.Pod) bool {
	if conditions.IsTerminal(pod.Status.Phase) {
		return true
	}
	status, ok := h.config.Status.GetPodStatus(pod.UID)
	return ok && conditions.IsTerminal(status.Phase)
}
