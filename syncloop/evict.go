package syncloop

import (
	"errors"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WaitingEviction says why a pod that waits is to go, and who is told of its end.
type WaitingEviction struct {
	// Reason, Message and Condition are those of the pod's status. Those of the first
	// eviction of a pod stand.
	Reason, Message string
	Condition       v1.PodCondition
	// GraceSeconds is how long the pod may take to end if it runs after all; nil is its
	// own grace.
	GraceSeconds *int64
	// Ended is resolved when nothing of the pod runs, or with an error if that cannot be
	// known. Nil: the caller does not wait.
	Ended *podworkers.Completion
}

// eviction is what becomes of a pod that is evicted while it waits.
type eviction struct {
	first WaitingEviction
	ended []*podworkers.Completion // of those who wait for it
}

// status is what the pod is to have.
func (e *eviction) status(pod *v1.Pod) v1.PodStatus {
	return v1.PodStatus{
		Phase: v1.PodFailed, Reason: e.first.Reason, Message: e.first.Message, Conditions: []v1.PodCondition{e.first.Condition},
		QOSClass: podstatus.QOSClass(pod),
	}
}

// resolve tells all who wait for the end of the pod.
func (e *eviction) resolve(err error) {
	for _, c := range e.ended {
		c.Resolve(err)
	}
}

// EvictWaiting ends a pod that waits before it can be admitted, if it does: it has
// Failed, with this reason, message and condition, and does not start. It never blocks
// and may be called from anywhere. False: the pod does not wait, and a worker has to
// be told; Ended is left as it is then. A pod that turns out to run, since an agent
// before this one has started it, gets a worker that ends it.
func (h *Handlers) EvictWaiting(uid types.UID, e WaitingEviction) bool {
	is := h.told.evict(uid, e)
	if is {
		h.wake()
	}
	return is
}

// StopWaiting implements WaitingHandler.
func (h *Handlers) StopWaiting() {
	for _, e := range h.told.stop() {
		e.resolve(ErrStopped)
	}
}

// evictWaiting gives the pods that wait, and have been evicted, their status. One that
// runs after all is ended by a worker.
func (h *Handlers) evictWaiting() {
	uids := h.told.evictions()
	if len(uids) == 0 {
		return
	}
	running := h.nowRunning()
	for _, uid := range uids {
		if pod := h.known(uid).wait.pod; h.ranBefore(pod, running) {
			h.adopt(pod)
		} else {
			h.evicted(pod)
		}
	}
}

// evicted gives a pod that waited, and does not run, the status it is to have if it was
// evicted.
func (h *Handlers) evicted(pod *v1.Pod) (is bool) {
	e := h.told.takeEviction(pod.UID)
	if e == nil {
		return false
	}
	h.refuse(pod, e.status(pod))
	e.resolve(h.mayRunStill(pod.UID))
	return true
}

// What those are told who wait for the end of a pod that waited.
var (
	errUnobserved = errors.New("syncloop: whether the pod runs is not known, since the runtime has not been observed")
	errRuns       = errors.New("syncloop: the pod runs, and was removed before it was ended")
)

// mayRunStill is nil if nothing of a pod without a worker runs.
func (h *Handlers) mayRunStill(uid types.UID) error {
	if seen, _ := h.config.Runtime.Healthy(); !seen {
		return errUnobserved
	}
	if runs(h.config.Runtime.Pods(), uid) && !h.config.Workers.View(uid).Known {
		return errRuns
	}
	return nil
}

// adopt gives a worker to a pod that waits and runs, and ends it if it was evicted.
func (h *Handlers) adopt(pod *v1.Pod) {
	e := h.told.takeEviction(pod.UID)
	h.waitsNoLonger(pod.UID)
	h.start(pod)
	if e == nil {
		return
	}
	defer h.observe(pod.UID)
	kill := h.config.Workers.Kill(podworkers.UpdatePodOptions{Pod: pod, StartTime: h.config.Clock.Now(), KillPodOptions: &podworkers.KillPodOptions{
		Evict: true, PodStatusFunc: podworkers.Fail(e.first.Reason, e.first.Message, e.first.Condition),
		PodTerminationGracePeriodSecondsOverride: e.first.GraceSeconds,
	}})
	for _, c := range e.ended {
		c.Follow(kill)
	}
}
