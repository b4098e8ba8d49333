package syncloop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// ReasonAdmissionDeferred is the reason of a pod that is Pending until terminating pods have stopped, and of
// the event about it.
const ReasonAdmissionDeferred = "AdmissionDeferred"

// WaitingHandler is a SyncHandler whose pods may wait. New detects whether the handler of a Loop implements
// it.
type WaitingHandler interface {
	SyncHandler
	// SetWake stores the functions that wake the loop and request housekeeping. New calls it once. Neither
	// function blocks, and any goroutine may call them.
	SetWake(wake, clean func())
	// HandleWaiting is called in each step, after all events and before housekeeping. It returns the time of
	// its next call if nothing happens before; timed is false if no time is set.
	HandleWaiting(ctx context.Context) (next time.Time, timed bool)
	// StopWaiting is called once when Run returns. It resolves the Completions of pending evictions with
	// ErrStopped.
	StopWaiting()
}

// Deferral says why a pod waits for its admission.
type Deferral struct {
	// Reason is ReasonAdmissionDeferred, v1.PodReasonUnschedulable for a pod that waits for room on the node,
	// or the reason of a handler that returned Pending.
	Reason string
	// Message is a sentence for people: the resource that is short, and the pods that have to terminate. Its
	// numbers are from the last decision about the pod.
	Message string
	// Until is when the pod is rejected if it still waits; zero: never.
	Until time.Time
}

// waitingPod is a pod that waits, with its published status.
type waitingPod struct {
	pod *v1.Pod
	// published is true if the stored status belongs to this pod and not to a previous incarnation of its UID.
	published bool
	message   string
	reason    string // as in Deferral
	shortage  string // reason of the shortage, if the pod waits for room on the node
}

// admitRejectOrDeferPod makes the allocation table decide about a new pod, and returns true if the pod may
// start now. If it may not, the pod is rejected, or the status that it waits is published (SL-19). The error is
// not nil if a panic of a rule or handler leaves the pod without a decision.
func (h *Handlers) admitRejectOrDeferPod(pod *v1.Pod) (admitted bool, err error) {
	now := h.config.Clock.Now()
	effects, err := h.answerHandlerQuestions(h.table.Add(toAllocationPod(h.chain.rules, pod), h.config.mayWaitWithoutLimit(pod), now, nil), now)
	for _, e := range effects { // There is exactly one.
		switch e.Kind {
		case allocation.Wait:
			h.storeAndPublishWaiting(pod, e)
		case allocation.Reject:
			h.recordAndPublishRejection(pod, PodAdmitResult{Reason: e.Answer.Reason, Message: e.Answer.Message})
		case allocation.Postpone:
			return false, cmp.Or(err, errRule)
		}
		admitted = e.Kind == allocation.Admit
	}
	return admitted, nil
}

// errRule is returned if an admission rule panics, so that nothing is decided about the pod.
var errRule = errors.New("syncloop: an admission rule panicked")

// answerHandlerQuestions calls each admission handler that the allocation table asks for and passes the answer
// to the table, until the table asks for none. It returns the effects of the table's decisions, and the last
// panic of a handler as an error.
func (s *podStates) answerHandlerQuestions(effects []allocation.Effect, now time.Time) (_ []allocation.Effect, err error) {
	for len(effects) > 0 {
		last := len(effects) - 1
		e := effects[last]
		if e.Kind != allocation.Ask {
			break
		}
		result, fault := s.chain.askHandler(e.Index, e.Pod.Pod, e.Snapshot, e.Snapshot.Trial)
		a := toTableAnswer(result)
		if fault != nil {
			err, a = fault, toTableAnswer(rejectedByPanic)
			a.Fault = true
		}
		effects = s.table.Answer(e.ID, e.Revision, a, now, effects[:last])
	}
	return effects, err
}

// rejectedByPanic is the refusal of a pod for which a handler has panicked twice.
var rejectedByPanic = Refused(allocation.Reason{
	Kind: allocation.KindHandler, Reason: "UnexpectedAdmissionError", Message: "an admission handler failed; the node's log has the details",
})

// toTableAnswer converts the result of an admission handler to an answer for the allocation table.
func toTableAnswer(r PodAdmitResult) allocation.Answer {
	a := allocation.NewAnswer(r.Reasons...)
	a.Admit, a.Reason, a.Message, a.Pending, a.Shortage = r.Admit, r.Reason, r.Message, r.Pending, r.short
	return a
}

// storeAndPublishWaiting stores why a pod waits for admission and publishes the status Pending. It records an
// event when a wait for terminating pods begins, and when the status reason of a wait for room or for a handler
// changes. If the reasons of a wait for room are the same as published, it publishes nothing.
func (p *unstartedPods) storeAndPublishWaiting(pod *v1.Pod, effect allocation.Effect) {
	r := p.ensureRecord(pod.UID)
	first := r.waiter == nil
	if first {
		r.waiter = &waitingPod{pod: pod}
	}
	w := r.waiter
	before := *w
	w.message, w.reason, w.shortage = p.waitMessage(effect), waitingReason(effect.Answer), ""
	if effect.Answer.WaitsWhenFull {
		w.shortage = effect.Answer.Reason
	}
	p.shared.updateEntry(pod.UID, func(p *sharedPod) { p.deferral = &Deferral{Reason: w.reason, Message: w.message, Until: effect.Until} })
	if effect.Answer.WaitsWhenFull && w.published && before.reason == w.reason && before.shortage == w.shortage {
		return // Only numbers in the message have changed. Deferred returns them.
	}
	switch {
	case effect.Answer.WaitsWhenFull || effect.Answer.Pending:
		if w.reason != before.reason && w.reason != ReasonAdmissionDeferred {
			p.recordWaitEvent(w, effect.Answer)
		}
	case first:
		p.config.Recorder.Event(pod, v1.EventTypeNormal, ReasonAdmissionDeferred, w.message)
		p.config.Log.Info("a pod waits for terminating pods", "pod", podmanager.FullName(pod), "uid", pod.UID, "message", w.message)
	}
	p.publishWaiting(w)
}

// waitingReason returns the status reason of a pod that waits for admission. The reason is Unschedulable if the
// node is full. If a handler lets the pod wait, it is the reason of that handler. If neither applies, it is
// AdmissionDeferred.
func waitingReason(answer allocation.Answer) string {
	switch {
	case answer.WaitsWhenFull:
		return v1.PodReasonUnschedulable
	case answer.Pending && answer.Reason != "":
		return answer.Reason
	}
	return ReasonAdmissionDeferred
}

// recordWaitEvent records a warning event and logs that a pod waits for room on the node or for an admission
// handler.
func (p *unstartedPods) recordWaitEvent(w *waitingPod, answer allocation.Answer) {
	event, message := w.reason, "a pod waits for an admission handler"
	if answer.WaitsWhenFull {
		event, message = reasonFailedScheduling, "a pod waits until the node has room"
	}
	p.config.Recorder.Event(w.pod, v1.EventTypeWarning, event, w.message)
	p.config.Log.Info(message, "pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "reason", w.reason, "message", w.message)
}

// publishWaiting publishes the status Pending of a waiting pod, with its reason and message; while an earlier
// pod with the UID terminates, it only stores the status. With the reason Unschedulable the status has the
// condition PodScheduled=False.
func (p *unstartedPods) publishWaiting(w *waitingPod) {
	status := v1.PodStatus{
		Phase: v1.PodPending, QOSClass: podstatus.QOSClass(w.pod), Reason: w.reason, Message: w.message,
		ObservedGeneration: w.pod.Generation,
	}
	if w.reason == v1.PodReasonUnschedulable { // As a scheduler sets it.
		status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: w.reason, Message: w.message}}
	}
	p.publishOrHoldStatus(w.pod, status)
}

// maxNamed is the number of terminating pods that a message names.
const maxNamed = 3

// waitMessage returns the status message of a waiting pod. It has the message of the answer, and says that the
// pod waits for room, or names up to maxNamed of the terminating pods that the pod waits for.
func (p *unstartedPods) waitMessage(effect allocation.Effect) string {
	if effect.Answer.WaitsWhenFull {
		return effect.Answer.Reason + ": " + effect.Answer.Message + "; it waits until the node has room"
	}
	if len(effect.Blockers) == 0 {
		return effect.Answer.Message
	}
	var names []string
	for i, uid := range effect.Blockers {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(effect.Blockers)-i))
			break
		}
		terminating, _ := p.table.Termination(uid)
		names = append(names, terminating.Pod.Namespace+"/"+terminating.Pod.Name)
	}
	if n := len(names); n > 1 {
		names[n-2] += " and " + names[n-1]
		names = slices.Delete(names, n-1, n)
	}
	return effect.Answer.Message + "; it waits for the end of " + strings.Join(names, ", ")
}

// updateWaitingPod replaces a waiting pod by its new version, in the handlers and in the allocation table. The
// table decides about it again later.
func (p *unstartedPods) updateWaitingPod(pod *v1.Pod) {
	p.readRecord(pod.UID).waiter.pod = pod
	p.table.SetStaying(toAllocationPod(p.chain.rules, pod))
}

// stopWaiting ends the wait of a pod for admission: it removes the pod from the waiting pods and from the
// allocation table, and resolves its eviction if it was evicted. It does nothing and returns false if the pod
// does not wait.
func (p *unstartedPods) stopWaiting(uid types.UID) (waited bool) {
	if !p.awaitsAdmission(uid) {
		return false
	}
	p.ensureRecord(uid).waiter = nil
	p.setHeldStatus(uid, nil)
	if e := p.shared.takeEvictionAndClearDeferral(uid); e != nil { // The pod was removed meanwhile, or its UID belongs to a new pod.
		e.resolveCompletions(p.checkNotRunning(uid))
	}
	p.table.Remove(uid)
	return true
}

// SetWake implements WaitingHandler.
func (h *Handlers) SetWake(wake, clean func()) { h.wake, h.requestHousekeeping = wake, clean }

// HandleWaiting implements WaitingHandler.
func (h *Handlers) HandleWaiting(context.Context) (next time.Time, timed bool) {
	defer h.updateUsage()
	h.updateAllocationsOfChangedWorkers()
	graceOver, timed := h.killBlockingOrphansAndRequestHousekeepingIfDue()
	if h.config.Closed() {
		for _, uid := range h.table.WaitingUIDs() {
			h.recordAndPublishRejection(h.readRecord(uid).waiter.pod, rejectedByShutdown)
		}
	}
	h.failOrKillEvictedWaitingPods()
	if h.shared.takeRecheck() {
		h.table.Recheck()
	}
	now := h.config.Clock.Now()
	effects, fault := h.answerHandlerQuestions(h.table.Review(now, nil), now)
	if fault != nil {
		h.requestHousekeeping() // Housekeeping makes the table ask the handler again.
	}
	limit, limited := h.table.NextLimit()
	h.decideResizes(nil)
	for _, e := range effects {
		pod := h.readRecord(e.UID).waiter.pod
		if err := h.guard.Call("SyncHandler.HandleWaiting", func() { h.applyWaitingDecision(pod, e) }); err != nil {
			h.config.Log.Error("the admission of a waiting pod panicked; the next housekeeping adds the pod again", "pod", podmanager.FullName(pod), "uid", e.UID, "err", err)
			h.stopWaiting(e.UID)
			h.ensureRecord(e.UID).retryChange = true
		}
	}
	if h.heldStatuses > 0 {
		for _, uid := range h.uidsWhere(func(r *record) bool { return r.heldStatus != nil }) {
			next := h.readRecord(uid).heldStatus
			h.publishOrHoldStatus(next.pod, next.status)
		}
	}
	return earlierTime(graceOver, timed, limit, limited)
}

// applyWaitingDecision applies the table's decision about a waiting pod: it publishes a new reason to wait,
// rejects the pod, or ends the wait and starts its worker. A pod that was evicted meanwhile fails instead of
// starting.
func (h *Handlers) applyWaitingDecision(pod *v1.Pod, e allocation.Effect) {
	switch e.Kind {
	case allocation.Wait:
		h.storeAndPublishWaiting(pod, e)
	case allocation.Reject:
		h.recordAndPublishRejection(pod, PodAdmitResult{Reason: e.Answer.Reason, Message: e.Answer.Message})
	case allocation.Admit:
		if h.failIfEvicted(pod) {
			return
		}
		r := h.ensureRecord(e.UID)
		if r.waiter.published { // The reason of the wait must not stay in the status.
			h.config.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
		}
		r.waiter = nil
		h.setHeldStatus(e.UID, nil)
		h.startWorker(pod)
	}
}

// startWorkersOfRunningWaitingPods starts a worker for each pod that waits for admission although it runs. An
// earlier agent has started such a pod, and the runtime did not list it when the pod was added (F60). If the
// pod was evicted, its worker kills it.
func (c *cleanup) startWorkersOfRunningWaitingPods() {
	for i := range c.running {
		if w := c.readRecord(c.running[i].UID).waiter; w != nil && c.running[i].MayRun() && !c.config.Workers.View(w.pod.UID).Known {
			c.startWorkerOfRunningWaitingPod(w.pod)
		}
	}
}

var _ WaitingHandler = (*Handlers)(nil)
