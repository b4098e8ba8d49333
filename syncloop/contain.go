package syncloop

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// wrapFunctionsAgainstPanics wraps the log, the event recorder and the functions of the host program, so that a panic
// fails only that call. It does not wrap TerminalStatus, Resizes.Supported and Resizes.Refuse, because their callers need
// to know of a panic. After a panic FromAPIServer and Closed return false. It
// returns the guard that contains and logs the panics (I50).
func (c *HandlersConfig) wrapFunctionsAgainstPanics() *contain.Guard {
	g := contain.New(contain.Config{Package: "syncloop", Clock: c.Clock, Log: c.Log, OnPanic: c.Panicked})
	c.Log = g.Log()
	c.Recorder = contain.NewRecorder(g, c.Recorder)
	c.Rejected = contain.Hook3(g, "Rejected", c.Rejected)
	c.Discard = contain.Hook1(g, "Discard", c.Discard)
	c.DropTerminalStatus = contain.Hook1(g, "DropTerminalStatus", c.DropTerminalStatus)
	c.SaveTerminalStatus = contain.Hook2(g, "SaveTerminalStatus", c.SaveTerminalStatus)
	fromAPIServer := c.FromAPIServer
	c.FromAPIServer = func(pod *v1.Pod) bool {
		return contain.CallOrDefault(g, "FromAPIServer", false, func() bool { return fromAPIServer(pod) })
	}
	c.Resizes.Save = contain.Hook2(g, "Resizes.Save", c.Resizes.Save)
	allocated := c.Resizes.Allocated
	c.Resizes.Allocated = func(pod *v1.Pod) (resources allocation.PodResources, found bool) {
		if g.Call("Resizes.Allocated", func() { resources, found = allocated(pod) }) != nil {
			return allocation.PodResources{}, false
		}
		return resources, found
	}
	closed := c.Closed
	c.Closed = func() bool { return contain.CallOrDefault(g, "Closed", false, closed) }
	return g
}

// forEachPodMarkPanicked calls f for each pod. After a panic of f it logs the error and continues with the next
// pod, and the next housekeeping repeats the change of that pod.
func (h *Handlers) forEachPodMarkPanicked(pods []*v1.Pod, f func(pod *v1.Pod)) {
	for _, pod := range pods {
		if err := h.guard.Call("SyncHandler", func() { f(pod) }); err != nil {
			h.config.Log.Error("a change of a pod panicked and is repeated by the next housekeeping", "pod", podmanager.FullName(pod), "uid", pod.UID, "err", err)
			h.ensureRecord(pod.UID).retryChange = true
		}
	}
}

// isAdditionRetryPending reports whether the handling of the pod's last change panicked and the pod has no worker.
// The next housekeeping adds such a pod again.
func (s *podStates) isAdditionRetryPending(uid types.UID) bool {
	return s.readRecord(uid).retryChange && !s.config.Workers.View(uid).Known
}

// retryPanickedPods repeats, once, the changes of desired pods that panicked: it adds a pod without a worker
// again, and sends an update to the worker of any other pod. For pods that are no longer desired it cancels the
// repetition.
func (h *Handlers) retryPanickedPods() {
	again := h.uidsWhere(func(r *record) bool { return r.retryChange })
	if len(again) == 0 {
		return
	}
	var added []*v1.Pod
	for _, pod := range h.config.Manager.GetPods() {
		switch {
		case !h.readRecord(pod.UID).retryChange:
		case h.isAdditionRetryPending(pod.UID):
			added = append(added, cmp.Or(h.readRecord(pod.UID).pendingResize, pod))
		default:
			h.ensureRecord(pod.UID).retryChange = false
			mirror, _ := h.config.Manager.GetMirrorPodByPod(pod)
			_ = h.guard.Call("SyncHandler", func() { h.updateWorker(podworkers.SyncPodUpdate, pod, mirror) })
		}
	}
	h.addPods(added)
	for _, uid := range again {
		if _, wanted := h.config.Manager.GetPodByUID(uid); !wanted {
			h.ensureRecord(uid).retryChange = false
		}
	}
}

// fullNames returns the full names (name_namespace) of the pods.
func fullNames(pods []*v1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, podmanager.FullName(pod))
	}
	return names
}
