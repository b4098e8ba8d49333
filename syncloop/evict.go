package syncloop

import (
	"errors"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WaitingEviction is the eviction of a pod that waits for its admission.
type WaitingEviction struct {
	// Reason, Message and Condition become part of the pod's status. If a pod is evicted twice, the first
	// eviction sets them.
	Reason, Message string
	Condition       v1.PodCondition
	// GraceSeconds is the grace period if the pod turns out to be running; nil is the pod's own grace period.
	// If a pod is evicted twice, the shortest counts.
	GraceSeconds *int64
	// Completion is resolved when no container of the pod runs, or with an error if that is not known. nil:
	// the caller does not wait.
	Completion *podworkers.Completion
}

// eviction is the eviction of a waiting pod that the loop has not handled yet.
type eviction struct {
	first       WaitingEviction
	grace       lifecycle.Grace          // the shortest of all requests
	completions []*podworkers.Completion // one for each caller
}

// statusOfEvictedPod returns the status Failed for an evicted pod, with the reason, message and condition of
// the first eviction request.
func (e *eviction) statusOfEvictedPod(pod *v1.Pod) v1.PodStatus {
	return v1.PodStatus{
		Phase: v1.PodFailed, Reason: e.first.Reason, Message: e.first.Message, Conditions: []v1.PodCondition{e.first.Condition},
		QOSClass: podstatus.QOSClass(pod),
	}
}

// resolveCompletions resolves every Completion of the eviction, for which callers wait, with err; nil means
// success.
func (e *eviction) resolveCompletions(err error) {
	for _, c := range e.completions {
		c.Resolve(err)
	}
}

// EvictWaiting evicts a pod that waits for its admission. The pod gets the phase Failed with this reason,
// message and condition, and does not start. If an earlier agent has started the pod, the pod gets a worker
// that terminates it. EvictWaiting returns false if the pod does not wait: then the caller evicts it through
// its worker, and Completion is not resolved. It never blocks, and any goroutine may call it.
func (h *Handlers) EvictWaiting(uid types.UID, e WaitingEviction) bool {
	waits := h.shared.addEviction(uid, e)
	if waits {
		h.wake()
	}
	return waits
}

// StopWaiting implements WaitingHandler.
func (h *Handlers) StopWaiting() {
	for _, e := range h.shared.stopEvictions() {
		e.resolveCompletions(ErrStopped)
	}
}

// failOrKillEvictedWaitingPods handles the evicted pods that wait for admission and have no worker. It publishes
// the terminal status of such a pod. If an earlier agent has started the pod and the pod still runs, it starts a
// worker that kills the pod instead.
func (h *Handlers) failOrKillEvictedWaitingPods() {
	uids := h.shared.evictedUIDs()
	if len(uids) == 0 {
		return
	}
	running := h.runningPodUIDs()
	for _, uid := range uids {
		if pod := h.readRecord(uid).waiter.pod; h.runsWithoutWorker(pod, running) {
			h.startWorkerOfRunningWaitingPod(pod)
		} else {
			h.failIfEvicted(pod)
		}
	}
}

// failIfEvicted stores a waiting pod as rejected, publishes the status Failed and resolves the eviction, if the
// pod was evicted. If it was not, it only clears the stored reason of the wait and returns false.
func (p *unstartedPods) failIfEvicted(pod *v1.Pod) (evicted bool) {
	e := p.shared.takeEvictionAndClearDeferral(pod.UID)
	if e == nil {
		return false
	}
	p.storeRejectionAndPublishStatus(pod, e.statusOfEvictedPod(pod))
	e.resolveCompletions(p.checkNotRunning(pod.UID))
	return true
}

// Errors of a Completion.
var (
	errUnobserved = errors.New("syncloop: it is not known whether the pod runs: the runtime has not been listed")
	errRuns       = errors.New("syncloop: the pod was removed and still runs")
)

// checkNotRunning returns an error if the pod runs in the runtime and has no worker. It also returns an error
// if the runtime has not been listed yet.
func (v nodeView) checkNotRunning(uid types.UID) error {
	if seen, _ := v.config.Runtime.Healthy(); !seen {
		return errUnobserved
	}
	if isRunning(v.config.Runtime.Pods(), uid) && !v.config.Workers.View(uid).Known {
		return errRuns
	}
	return nil
}

// startWorkerOfRunningWaitingPod ends the wait of a pod that already runs, and starts its worker. If the pod
// was evicted, it then makes the workers kill the pod, and each Completion of the eviction resolves with the
// result of that kill.
func (h *Handlers) startWorkerOfRunningWaitingPod(pod *v1.Pod) {
	e := h.shared.takeEvictionAndClearDeferral(pod.UID)
	h.stopWaiting(pod.UID)
	h.startWorker(pod)
	if e == nil {
		return
	}
	defer h.updatePodAllocation(pod.UID)
	kill := h.config.Workers.Kill(podworkers.UpdatePodOptions{Pod: pod, StartTime: h.config.Clock.Now(), KillPodOptions: &podworkers.KillPodOptions{
		Evict: true, PodStatusFunc: podworkers.Fail(e.first.Reason, e.first.Message, e.first.Condition),
		PodTerminationGracePeriodSecondsOverride: e.grace.ToAPI(),
	}})
	for _, c := range e.completions {
		c.Follow(kill)
	}
}
