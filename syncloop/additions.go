package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
)

// HandlePodAdditions implements SyncHandler. It stores all pods in the manager first. Then it pairs
// mirror pods, and admits each other pod and gives it to its worker: the pods that run already first,
// then the oldest.
func (h *Handlers) HandlePodAdditions(_ context.Context, pods []*v1.Pod) { h.addAll(pods) }

// addAll adds pods. If Ended or an admission handler panics for a pod, the next housekeeping adds that
// pod again, once.
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
	h.observeChangedWorkers()
	a := &addition{Handlers: h, running: h.nowRunning(), left: h.leftBehind()}
	ordered := h.inOrder(pods, a.running)
	for _, pod := range ordered {
		if h.known(pod.UID).removed { // How it ended before counts for the pod that was removed.
			h.config.DropTerminalStatus(pod.UID)
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

// addition is one addition of pods.
type addition struct {
	*Handlers
	running map[types.UID]bool // the pods that run
	left    map[types.UID]bool // the pods that an earlier agent has run
}

// addOne adds a pod. After a first panic the next housekeeping adds it again. After a second panic a pod
// that an earlier agent has run gets a worker, because that agent admitted it; any other pod is rejected.
func (a *addition) addOne(pod *v1.Pod) {
	r := a.record(pod.UID)
	second := r.repeat
	r.repeat = false
	if !a.left[pod.UID] || a.running[pod.UID] {
		r.undecided = false // Whether any other pod has ended is for its first sync to find.
	}
	var err error
	if fault := a.guard.Call("SyncHandler.HandlePodAdditions", func() { pod, err = a.addRestored(pod) }); fault != nil {
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

// addRestored adds a pod with the terminal status that an earlier agent has saved of it, and returns that
// pod. The error is a panic of Ended or of an admission handler.
func (a *addition) addRestored(pod *v1.Pod) (*v1.Pod, error) {
	pod, err := a.withEndedStatus(pod)
	if err != nil {
		return pod, err
	}
	if now, _ := a.config.Manager.GetPodByUID(pod.UID); now != pod {
		a.config.Manager.AddPod(pod)
	}
	return pod, a.add(pod)
}

// withEndedStatus returns the pod with the terminal status that Ended has for it, unless its own status
// is terminal. A pod with a terminal status does not run again.
func (a *addition) withEndedStatus(pod *v1.Pod) (*v1.Pod, error) {
	status, ok, err := a.ended(pod)
	if err != nil || !ok || podstatus.IsTerminal(pod.Status.Phase) {
		return pod, err
	}
	ended := *pod // The pod of the source is shared and only read.
	ended.Status = status
	return &ended, nil
}

func (a *addition) ended(pod *v1.Pod) (status v1.PodStatus, ok bool, err error) {
	defer a.guard.Recover("TerminalStatus", &err)
	status, ok = a.config.TerminalStatus(pod)
	return status, ok, nil
}

// add gives a pod a worker, unless it is rejected or has to wait. Each addition asks for admission,
// whatever this agent has decided about the UID before. A pod that an earlier agent has run is not asked,
// because that agent admitted it (AD-8, I42).
func (a *addition) add(pod *v1.Pod) error {
	a.dropRefusal(pod.UID)
	a.waitsNoLonger(pod.UID)
	if !skipsAdmission(pod) && a.closed(pod, a.running) {
		return nil
	}
	if !skipsAdmission(pod) && !a.left[pod.UID] && !a.ranBefore(pod, a.running) {
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

// skipsAdmission reports whether a pod gets a worker without admission: it is deleted or terminal, so it
// starts nothing (SL-18). A pod is asked for admission although a worker of the same UID still
// terminates, because that worker has a previous incarnation.
func skipsAdmission(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil || podstatus.IsTerminal(pod.Status.Phase)
}

// updateByMirror updates the worker of a static pod whose mirror pod has changed. Housekeeping handles a
// mirror pod without a static pod.
func (h *Handlers) updateByMirror(mirror *v1.Pod) {
	if pod, ok := h.config.Manager.GetPodByMirrorPod(mirror); ok && !h.idle(pod.UID) && !h.isAdditionPending(pod.UID) {
		h.update(podworkers.SyncPodUpdate, pod, mirror)
	}
}

// reject rejects a pod and records one event (SL-20). The status is new: it keeps no condition and no
// container status of the stored one, which belongs to a previous incarnation of the UID.
func (p *unstartedPods) reject(pod *v1.Pod, result PodAdmitResult) {
	p.config.Recorder.Event(pod, v1.EventTypeWarning, result.Reason, result.Message)
	p.refuse(pod, v1.PodStatus{
		Phase:    v1.PodFailed,
		QOSClass: podstatus.QOSClass(pod),
		Reason:   result.Reason,
		Message:  "Pod was rejected: " + result.Message,
	})
	p.config.Log.Info("a pod was rejected", "pod", podmanager.FullName(pod), "uid", pod.UID, "reason", result.Reason, "message", result.Message)
	p.config.Rejected(pod, result.Reason, result.Message)
}

// refuse notes that a pod does not start, and publishes its status.
func (p *unstartedPods) refuse(pod *v1.Pod, status v1.PodStatus) {
	w := p.known(pod.UID).wait
	own := w != nil && w.published
	p.waitsNoLonger(pod.UID)
	p.table.Reject(pod.UID)
	p.shared.setRefused(pod.UID, true)
	defer p.observe(pod.UID)
	status.ObservedGeneration = pod.Generation
	if own {
		p.config.Status.SetPodStatus(pod, status)
		p.saveRefusal(pod)
		return
	}
	p.publishIdle(pod, status)
}

// active reports whether a pod runs or shall run (HC-7). A rejected pod is not active, and neither is a
// pod that waits. For a pod with a worker the worker decides: a terminal status that is stored may belong
// to a previous incarnation, and a pod that waits for the end of that incarnation has been admitted.
func (s *podStates) active(pod *v1.Pod) bool {
	if s.idle(pod.UID) {
		return false
	}
	view := s.config.Workers.View(pod.UID)
	if !view.Known {
		return !s.terminal(pod)
	}
	return view.RestartRequested && !view.RestartEvicted || !view.IsPodKnownTerminated()
}

// terminal reports whether the status of the source or the stored status is terminal.
func (s *podStates) terminal(pod *v1.Pod) bool {
	if podstatus.IsTerminal(pod.Status.Phase) {
		return true
	}
	status, ok := s.config.Status.GetPodStatus(pod.UID)
	return ok && podstatus.IsTerminal(status.Phase)
}
