package syncloop

import (
	"errors"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WaitingEviction says why a pod that waits is evicted, and which Completion its end resolves.
type WaitingEviction struct {
	// Reason, Message and Condition are those of the pod's status. Those of the first
	// eviction of a pod stand.
	Reason, Message string
	Condition       v1.PodCondition
	// GraceSeconds is how long the pod may take to end if it runs after all; nil is its
	// own grace.
	GraceSeconds *int64
	// Completion is resolved when nothing of the pod runs, or with an error if that cannot be
	// known. Nil: the caller does not wait.
	Completion *podworkers.Completion
}

// eviction is the eviction of a pod that waits.
type eviction struct {
	first       WaitingEviction
	completions []*podworkers.Completion // the Ended of each eviction of the pod
}

// status returns the status of the evicted pod.
func (e *eviction) status(pod *v1.Pod) v1.PodStatus {
	return v1.PodStatus{
		Phase: v1.PodFailed, Reason: e.first.Reason, Message: e.first.Message, Conditions: []v1.PodCondition{e.first.Condition},
		QOSClass: podstatus.QOSClass(pod),
	}
}

// resolve resolves each Ended.
func (e *eviction) resolve(err error) {
	for _, c := range e.completions {
		c.Resolve(err)
	}
}

// EvictWaiting evicts a pod that waits for its admission: the pod gets the phase Failed with this reason,
// message and condition, and does not start. If an earlier agent has started the pod, it gets a worker that
// terminates it. EvictWaiting returns false if the pod does not wait: the caller evicts it through its
// worker, and Ended is not resolved. It never blocks and may be called from anywhere.
func (h *Handlers) EvictWaiting(uid types.UID, e WaitingEviction) bool {
	is := h.shared.addEviction(uid, e)
	if is {
		h.wake()
	}
	return is
}

// StopWaiting implements WaitingHandler.
func (h *Handlers) StopWaiting() {
	for _, e := range h.shared.stopEvictions() {
		e.resolve(ErrStopped)
	}
}

// handleEvictions publishes the statuses of the evicted pods that wait. If such a pod runs, its worker
// terminates it.
func (h *Handlers) handleEvictions() {
	uids := h.shared.evictedUIDs()
	if len(uids) == 0 {
		return
	}
	running := h.runningPods()
	for _, uid := range uids {
		if pod := h.readRecord(uid).waiter.pod; h.runsWithoutWorker(pod, running) {
			h.startWaitingPod(pod)
		} else {
			h.failIfEvicted(pod)
		}
	}
}

// failIfEvicted publishes the status of a pod that waited and does not run, if it was evicted, and reports
// whether it was.
func (p *unstartedPods) failIfEvicted(pod *v1.Pod) (is bool) {
	e := p.shared.takeEviction(pod.UID)
	if e == nil {
		return false
	}
	p.publishRejection(pod, e.status(pod))
	e.resolve(p.checkNotRunning(pod.UID))
	return true
}

// The errors with which Ended is resolved.
var (
	errUnobserved = errors.New("syncloop: whether the pod runs is not known, since the runtime has not been observed")
	errRuns       = errors.New("syncloop: the pod runs, and was removed before it was ended")
)

// checkNotRunning returns an error if a pod without a worker runs, or if that is not known.
func (v nodeView) checkNotRunning(uid types.UID) error {
	if seen, _ := v.config.Runtime.Healthy(); !seen {
		return errUnobserved
	}
	if isRunning(v.config.Runtime.Pods(), uid) && !v.config.Workers.View(uid).Known {
		return errRuns
	}
	return nil
}

// startWaitingPod gives a worker to a pod that waits and runs, and kills the pod if it was evicted.
func (h *Handlers) startWaitingPod(pod *v1.Pod) {
	e := h.shared.takeEviction(pod.UID)
	h.stopWaiting(pod.UID)
	h.startWorker(pod)
	if e == nil {
		return
	}
	defer h.observePod(pod.UID)
	kill := h.config.Workers.Kill(podworkers.UpdatePodOptions{Pod: pod, StartTime: h.config.Clock.Now(), KillPodOptions: &podworkers.KillPodOptions{
		Evict: true, PodStatusFunc: podworkers.Fail(e.first.Reason, e.first.Message, e.first.Condition),
		PodTerminationGracePeriodSecondsOverride: e.first.GraceSeconds,
	}})
	for _, c := range e.completions {
		c.Follow(kill)
	}
}
