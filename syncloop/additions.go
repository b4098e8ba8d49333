package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodAdditions implements SyncHandler: all into the
// manager before anything is called out; then what runs already first, then the
// oldest: mirror pairing or admission, then the worker.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) { h.addAll(pods) }

// addAll adds pods. What cannot be had of one of them because of a panic (how it has
// ended before, what an admission handler says) is asked again by the next
// housekeeping, once.
func (h *Handlers) addAll(pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	for _, pod := range pods {
		h.record(pod.UID).undecided = true
		h.table.MarkChanged(pod.UID)
	}
	defer h.updateUsage()
	defer func() {
		for _, pod := range pods {
			h.record(pod.UID).undecided = false
		}
	}()
	h.observeRuntime(h.config.Runtime.Pods())
	h.observeNoted()
	a := &addition{Handlers: h, running: h.nowRunning(), left: h.leftBehind()}
	ordered := h.inOrder(pods, a.running)
	for _, pod := range ordered {
		if h.known(pod.UID).removed { // How it ended before counts for the pod that was removed.
			h.config.DropEnded(pod.UID)
		}
		h.record(pod.UID).removed = false
		h.config.Manager.AddPod(pod)
	}
	var mirrors []*v1.Pod
	for _, pod := range ordered {
		if podmanager.IsMirrorPod(pod) {
			mirrors = append(mirrors, pod)
			continue
		}
		a.addOne(pod)
	}
	h.each(mirrors, h.updateByMirror)
}

// addition is one addition of pods, with what it goes by: the pods that run, and those that an agent
// before this one has left.
type addition struct {
	*Handlers
	running, left map[types.UID]bool
}

// addOne adds a pod. The first panic puts that off until the next housekeeping. After
// a second one a pod that an agent before this one has run goes on, as it was admitted
// there, and any other is refused: nobody knows whether it may run.
func (a *addition) addOne(pod *v1.Pod) {
	r := a.record(pod.UID)
	second := r.repeat
	r.repeat = false
	if !a.left[pod.UID] || a.running[pod.UID] {
		r.undecided = false // Of any other a sync has to find whether it is over.
	}
	var err error
	if fault := a.guard.Do("SyncHandler.HandlePodAdditions", func() { pod, err = a.try(pod) }); fault != nil {
		err = fault
	}
	switch {
	case err == nil:
	case !second:
		a.config.Log.Error("the addition of a pod panicked and is repeated by the next housekeeping", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
		a.record(pod.UID).repeat = true
		a.observe(pod.UID)
	case a.left[pod.UID] || a.ranBefore(pod, a.running):
		a.start(pod)
	default:
		a.reject(pod, panicked)
	}
}

// try makes the addition, and returns the pod as it had ended. Its error is a panic
// of one who was asked.
func (a *addition) try(pod *v1.Pod) (*v1.Pod, error) {
	pod, err := a.asItEnded(pod)
	if err != nil {
		return pod, err
	}
	if now, _ := a.config.Manager.GetPodByUID(pod.UID); now != pod {
		a.config.Manager.AddPod(pod)
	}
	return pod, a.add(pod)
}

// asItEnded is the pod with how it had ended before this process, if that is known
// and the source does not say so itself. It is terminal then, as one of an API
// server that keeps statuses, and does not run again.
func (a *addition) asItEnded(pod *v1.Pod) (*v1.Pod, error) {
	status, ok, err := a.ended(pod)
	if err != nil || !ok || podstatus.IsTerminal(pod.Status.Phase) {
		return pod, err
	}
	ended := *pod // What is shared is only read.
	ended.Status = status
	return &ended, nil
}

func (a *addition) ended(pod *v1.Pod) (status v1.PodStatus, ok bool, err error) {
	defer a.guard.Recover("Ended", &err)
	status, ok = a.config.Ended(pod)
	return status, ok, nil
}

// add gives a pod a worker, unless it is refused, or has to wait. Each addition is a new
// question, whatever became of the UID before under this agent. A pod that ran
// under another one, and has left something behind, was admitted there: whether
// it is over is not for admission to say (AD-8, I42).
func (a *addition) add(pod *v1.Pod) error {
	a.dropRefusal(pod.UID)
	a.waitsNoLonger(pod.UID)
	if mustAdmit(pod) && a.closed(pod, a.running) {
		return nil
	}
	if mustAdmit(pod) && !a.left[pod.UID] && !a.ranBefore(pod, a.running) {
		if admitted, err := a.admit(pod); err != nil || !admitted {
			return err
		}
	}
	a.start(pod)
	return nil
}

// start gives a pod a worker.
func (h *Handlers) start(pod *v1.Pod) {
	if r := h.record(pod.UID); r.departed {
		r.departed = false
		h.config.Status.ReplacePodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
	}
	mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
	h.update(podworkers.SyncPodCreate, pod, mirror)
}

// mustAdmit: a pod that is terminal or on its way out will not start anything,
// so nothing can be gained by refusing it (SL-18). That a worker of the same
// UID still terminates is no reason to let a pod in unasked: that is an older
// life, and this one asks for a place when its turn comes.
func mustAdmit(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && !podstatus.IsTerminal(pod.Status.Phase)
}

// updateByMirror tells a static pod's worker that its mirror has changed. A
// mirror without a static pod is an orphan, which housekeeping finds.
func (h *Handlers) updateByMirror(mirror *v1.Pod) {
	if pod, ok := h.config.Manager.GetPodByMirrorPod(mirror); ok && !h.idle(pod.UID) && !h.unsure(pod.UID) {
		h.update(podworkers.SyncPodUpdate, pod, mirror)
	}
}

// reject latches the refusal and says so once (SL-20): the status is new, none
// of the old one's conditions or container statuses are carried over. What is
// stored already was said of an earlier life of the UID and binds this one to
// nothing.
func (h *Handlers) reject(pod *v1.Pod, result PodAdmitResult) {
	h.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	h.refuse(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: podstatus.QOSClass(pod),
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	h.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
	h.config.Rejected(pod, result.Reason, result.Message)
}

// refuse latches that a pod does not start, and why.
func (h *Handlers) refuse(pod *v1.Pod, status v1.PodStatus) {
	w := h.known(pod.UID).wait
	own := w != nil && w.published
	h.waitsNoLonger(pod.UID)
	h.table.Reject(pod.UID)
	h.told.setRefused(pod.UID, true)
	defer h.observe(pod.UID)
	status.ObservedGeneration = pod.Generation
	if own {
		h.config.Status.SetPodStatus(pod, status)
		h.saveRefusal(pod)
		return
	}
	h.publishIdle(pod, status)
}

// active: the pod runs, or is to run (HC-7). A rejected one is not, nor is one that
// waits. Of a pod that has a worker only that knows: a stored status that says
// terminal may be that of an earlier life, and a pod that waits for the end of
// that life has been admitted.
func (h *Handlers) active(pod *v1.Pod) bool {
	if h.idle(pod.UID) {
		return false
	}
	view := h.config.Workers.View(pod.UID)
	if !view.Known {
		return !h.terminal(pod)
	}
	return view.RestartRequested && !view.RestartEvicted || !view.IsPodKnownTerminated()
}

// terminal looks at both statuses: the source's and our own.
func (h *Handlers) terminal(pod *v1.Pod) bool {
	if podstatus.IsTerminal(pod.Status.Phase) {
		return true
	}
	status, ok := h.config.Status.GetPodStatus(pod.UID)
	return ok && podstatus.IsTerminal(status.Phase)
}
