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

// ReasonAdmissionDeferred is the reason of a pod that is Pending because others
// have to end before it can be admitted, and of the event that says so.
const ReasonAdmissionDeferred = "AdmissionDeferred"

// WaitingHandler is a SyncHandler some of whose pods wait, for a time or for
// others. A Loop finds out by itself whether its handler is one.
type WaitingHandler interface {
	SyncHandler
	// SetWake is called once, by New, with what wakes the loop, and what asks it for
	// housekeeping. Neither blocks, and both may be called from anywhere.
	SetWake(wake, clean func())
	// HandleWaiting is called in each step, after all that has happened and before
	// housekeeping. It returns when it is to be called next even if nothing happens;
	// false if that is never.
	HandleWaiting(ctx context.Context) (next time.Time, timed bool)
	// StopWaiting is called once, when Run has ended. It resolves, with ErrStopped, the
	// handles of evictions that are not complete.
	StopWaiting()
}

// Deferral says that a pod waits before it can be admitted.
type Deferral struct {
	// Reason is ReasonAdmissionDeferred, v1.PodReasonUnschedulable for a pod that waits until
	// the node has room, or what the node cannot do.
	Reason string
	// Message is a sentence for people: which resource is short, and which pods have to end.
	// Its numbers are from the last decision about the pod.
	Message string
	// Until is when the pod is rejected if it still waits; zero: never.
	Until time.Time
}

// waitingPod is a pod that waits.
type waitingPod struct {
	pod *v1.Pod
	// published says that the stored status belongs to this pod, and not to a previous incarnation
	// of its UID.
	published bool
	message   string
	reason    string // why it waits; ReasonAdmissionDeferred, say
	shortage  string // of what there is not enough, if it waits until the node has room
}

// admitPod decides whether a pod starts now. A pod that is rejected stays in the manager and gets no worker
// (SL-19). A pod that waits gets its worker when it is admitted. The error is a panic of a handler or rule.
func (h *Handlers) admitPod(pod *v1.Pod) (admitted bool, err error) {
	now := h.config.Clock.Now()
	effects, err := h.answerQuestions(h.table.Add(podWithClaims(h.chain.rules, pod), h.config.waitsWithoutLimit(pod), now, nil), now)
	for _, e := range effects { // There is one.
		switch e.Kind {
		case allocation.Wait:
			h.recordWaiting(pod, e)
		case allocation.Reject:
			h.rejectPod(pod, PodAdmitResult{Reason: e.Answer.Reason, Message: e.Answer.Message})
		case allocation.Postpone:
			return false, cmp.Or(err, errRule)
		}
		admitted = e.Kind == allocation.Admit
	}
	return admitted, nil
}

// errRule is the error of a pod about which nothing is decided, since a rule has panicked.
var errRule = errors.New("syncloop: an admission rule panicked")

// answerQuestions asks the handlers the questions of the table until none is open, and returns the other effects.
// The error is the last panic of a handler.
func (s *podStates) answerQuestions(effects []allocation.Effect, now time.Time) (_ []allocation.Effect, err error) {
	for len(effects) > 0 {
		last := len(effects) - 1
		e := effects[last]
		if e.Kind != allocation.Ask {
			break
		}
		result, fault := s.chain.askHandler(e.Index, e.Pod.Pod, e.Snapshot, e.Snapshot.Trial)
		a := tableAnswer(result)
		if fault != nil {
			err, a = fault, tableAnswer(rejectedByPanic)
			a.Fault = true
		}
		effects = s.table.Answer(e.ID, e.Revision, a, now, effects[:last])
	}
	return effects, err
}

// rejectedByPanic is the refusal of a pod for which a handler has panicked twice.
var rejectedByPanic = Refused(allocation.Reason{
	Kind: allocation.KindHandler, Reason: "UnexpectedAdmissionError", Message: "what decides on the pod failed; the node's log has the details",
})

func tableAnswer(r PodAdmitResult) allocation.Answer {
	a := allocation.NewAnswer(r.Reasons...)
	a.Admit, a.Reason, a.Message, a.Pending, a.Shortage = r.Admit, r.Reason, r.Message, r.Pending, r.short
	return a
}

// recordWaiting notes that a pod waits, and publishes the reason. The first time it records an event too.
func (p *unstartedPods) recordWaiting(pod *v1.Pod, d allocation.Effect) {
	r := p.ensureRecord(pod.UID)
	first := r.waiter == nil
	if first {
		r.waiter = &waitingPod{pod: pod}
	}
	w := r.waiter
	before := *w
	w.message, w.reason, w.shortage = p.waitMessage(d), waitingReason(d.Answer), ""
	if d.Answer.Full {
		w.shortage = d.Answer.Reason
	}
	p.shared.modify(pod.UID, func(p *sharedPod) { p.deferral = &Deferral{Reason: w.reason, Message: w.message, Until: d.Until} })
	if d.Answer.Full && w.published && before.reason == w.reason && before.shortage == w.shortage {
		return // Only the numbers are new, as after each end of a pod. Deferred has them.
	}
	switch {
	case d.Answer.Full || d.Answer.Pending:
		if w.reason != before.reason && w.reason != ReasonAdmissionDeferred {
			p.recordWaitEvent(w, d.Answer)
		}
	case first:
		p.config.Recorder.Event(pod, v1.EventTypeNormal, ReasonAdmissionDeferred, w.message)
		p.config.Log.Info("a pod waits for others to end", "pod", podmanager.FullName(pod), "uid", pod.UID, "message", w.message)
	}
	p.publishWaiting(w)
}

// waitingReason is the reason of a pod that waits.
func waitingReason(answer allocation.Answer) string {
	switch {
	case answer.Full:
		return v1.PodReasonUnschedulable
	case answer.Pending && answer.Reason != "":
		return answer.Reason
	}
	return ReasonAdmissionDeferred
}

// recordWaitEvent says that a pod waits for more than the end of pods that are ending.
func (p *unstartedPods) recordWaitEvent(w *waitingPod, answer allocation.Answer) {
	event, message := w.reason, "a pod waits for what the node cannot do"
	if answer.Full {
		event, message = reasonFailedScheduling, "a pod waits until the node has room"
	}
	p.config.Recorder.Event(w.pod, v1.EventTypeWarning, event, w.message)
	p.config.Log.Info(message, "pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "reason", w.reason, "message", w.message)
}

// publishWaiting publishes the status of a pod that waits.
func (p *unstartedPods) publishWaiting(w *waitingPod) {
	status := v1.PodStatus{
		Phase: v1.PodPending, QOSClass: podstatus.QOSClass(w.pod), Reason: w.reason, Message: w.message,
		ObservedGeneration: w.pod.Generation,
	}
	if w.reason == v1.PodReasonUnschedulable { // As a scheduler says it.
		status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: w.reason, Message: w.message}}
	}
	p.publishStatus(w.pod, status)
}

// maxNamed is how many pods a sentence names.
const maxNamed = 3

// waitMessage returns the message of a pod that waits.
func (p *unstartedPods) waitMessage(d allocation.Effect) string {
	if d.Answer.Full {
		return d.Answer.Reason + ": " + d.Answer.Message + "; it waits until the node has room"
	}
	if len(d.Blockers) == 0 {
		return d.Answer.Message
	}
	var names []string
	for i, uid := range d.Blockers {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(d.Blockers)-i))
			break
		}
		ending, _ := p.table.Termination(uid)
		names = append(names, ending.Pod.Namespace+"/"+ending.Pod.Name)
	}
	if n := len(names); n > 1 {
		names[n-2] += " and " + names[n-1]
		names = slices.Delete(names, n-1, n)
	}
	return d.Answer.Message + "; it waits for the end of " + strings.Join(names, ", ")
}

// updateWaitingPod replaces a pod that waits by its newest version, and has the table decide again.
func (p *unstartedPods) updateWaitingPod(pod *v1.Pod) {
	p.readRecord(pod.UID).waiter.pod = pod
	p.table.SetStaying(podWithClaims(p.chain.rules, pod))
}

// stopWaiting drops the record that a pod waits, and reports whether it did.
func (p *unstartedPods) stopWaiting(uid types.UID) bool {
	if !p.awaitsAdmission(uid) {
		return false
	}
	p.ensureRecord(uid).waiter = nil
	p.setHeldStatus(uid, nil)
	if e := p.shared.takeEviction(uid); e != nil { // It was removed meanwhile, or is another pod by now.
		e.resolve(p.checkNotRunning(uid))
	}
	p.table.Remove(uid)
	return true
}

// SetWake implements WaitingHandler.
func (h *Handlers) SetWake(wake, clean func()) { h.wake, h.requestHousekeeping = wake, clean }

// HandleWaiting implements WaitingHandler.
func (h *Handlers) HandleWaiting(context.Context) (next time.Time, timed bool) {
	defer h.updateUsage()
	h.observeChangedWorkers()
	graceOver, timed := h.handleOrphanGraces()
	if h.config.Closed() {
		for _, uid := range h.table.WaitingUIDs() {
			h.rejectPod(h.readRecord(uid).waiter.pod, rejectedByShutdown)
		}
	}
	h.handleEvictions()
	if h.shared.takeRecheck() {
		h.table.Recheck()
	}
	now := h.config.Clock.Now()
	effects, fault := h.answerQuestions(h.table.Review(now, nil), now)
	if fault != nil {
		h.requestHousekeeping() // The housekeeping has the handler asked again.
	}
	limit, limited := h.table.NextLimit()
	for _, e := range effects {
		pod := h.readRecord(e.UID).waiter.pod
		if err := h.guard.Call("SyncHandler.HandleWaiting", func() { h.applyDecision(pod, e) }); err != nil {
			h.config.Log.Error("the admission of a pod that waits panicked; the next housekeeping adds the pod again", "pod", podmanager.FullName(pod), "uid", e.UID, "err", err)
			h.stopWaiting(e.UID)
			h.ensureRecord(e.UID).retryChange = true
		}
	}
	if h.heldStatuses > 0 {
		for _, uid := range h.uidsWhere(func(r *record) bool { return r.heldStatus != nil }) {
			next := h.readRecord(uid).heldStatus
			h.publishStatus(next.pod, next.status)
		}
	}
	return earlierTime(graceOver, timed, limit, limited)
}

// applyDecision performs the decision about a pod that waited.
func (h *Handlers) applyDecision(pod *v1.Pod, e allocation.Effect) {
	switch e.Kind {
	case allocation.Wait:
		h.recordWaiting(pod, e)
	case allocation.Reject:
		h.rejectPod(pod, PodAdmitResult{Reason: e.Answer.Reason, Message: e.Answer.Message})
	case allocation.Admit:
		if h.failIfEvicted(pod) {
			return
		}
		r := h.ensureRecord(e.UID)
		if r.waiter.published { // The status of the pod must not keep the reason of the wait.
			h.config.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
		}
		r.waiter = nil
		h.setHeldStatus(e.UID, nil)
		h.startWorker(pod)
	}
}

// startRunningWaitingPods gives a worker to each pod that waits and runs: an earlier agent has started it, and the
// runtime did not show it when it was added (F60). If it was evicted meanwhile, the worker terminates it.
func (c *cleanup) startRunningWaitingPods() {
	for i := range c.running {
		if w := c.readRecord(c.running[i].UID).waiter; w != nil && c.running[i].MayRun() && !c.config.Workers.View(w.pod.UID).Known {
			c.startWaitingPod(w.pod)
		}
	}
}

var _ WaitingHandler = (*Handlers)(nil)
