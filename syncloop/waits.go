package syncloop

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
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
	// Its numbers are those of the last time when the handlers were asked about the pod.
	Message string
	// Until is when the pod is rejected if it still waits; zero: never.
	Until time.Time
}

// waiter is a pod that waits.
type waiter struct {
	pod *v1.Pod
	// published says that the stored status belongs to this pod, and not to a previous incarnation
	// of its UID.
	published bool
	message   string
	reason    string // why it waits; ReasonAdmissionDeferred, say
	short     string // of what there is not enough, if it waits until the node has room
	panics    int    // of handlers, since they have answered last
}

// admit decides whether a pod starts now. A refused pod stays in the manager and
// gets no worker (SL-19); neither does one that waits, until its time has come. The
// error is a panic of a handler.
func (h *Handlers) admit(pod *v1.Pod) (bool, error) {
	var fault error
	d := h.places.admissionQueue.Admit(usageOf(pod), h.patient(pod), h.config.Clock.Now(),
		func(_ types.UID, beside admission.Beside) admission.Answer {
			answer, err := h.question(pod, beside)
			if err != nil {
				fault = err
			}
			return answer
		})
	if fault != nil {
		h.places.admissionQueue.Leave(pod.UID)
		return false, fault
	}
	switch d.Verdict {
	case admission.Waits:
		h.wait(pod, d)
	case admission.Refused:
		h.reject(pod, PodAdmitResult{Reason: d.Answer.Reason, Message: d.Answer.Message})
	}
	return d.Verdict == admission.Admitted, nil
}

// review asks about a pod that waits. If a handler panics the pod goes on waiting,
// once; the next housekeeping asks again.
func (h *Handlers) review(uid types.UID, beside admission.Beside) admission.Answer {
	w := h.waiting[uid]
	answer, err := h.question(w.pod, beside)
	if err == nil {
		w.panics = 0
		return answer
	}
	w.panics++
	h.clean() // Which has it asked again.
	return admission.Answer{Unknown: w.panics == 1, Reason: panicked.Reason, Message: panicked.Message}
}

// panicked is the refusal of a handler that has panicked too often.
var panicked = Refused(Reason{Kind: KindHandler, Reason: "UnexpectedAdmissionError", Message: "what decides on the pod failed; the node's log has the details"})

// question puts a pod before the chain. The first refusal decides. A static pod that finds a host
// port or a name taken by a pod that stays waits for that, unless a refusal of another kind comes
// after it: a file that changes a moment before the file of the other pod is not refused for good.
func (h *Handlers) question(pod *v1.Pod, beside admission.Beside) (admission.Answer, error) {
	answer := admission.Answer{Admit: true}
	ends := beside.Ending != nil && beside.Ending.Len() > 0 // What ends is waited for in any case.
	for refusal, err := range h.refusals(pod, beside, beside.Ending == nil) {
		switch {
		case err != nil || ends || !waitsForHolder(pod, refusal):
			return answerOf(refusal), err
		case answer.Admit:
			answer = answerOf(refusal)
			answer.Pending = true
		}
	}
	return answer, nil
}

// waitsForHolder reports whether a refusal only says that another pod has what a static pod needs
// for itself. No scheduler has another pod made in its place, and a terminal phase would never go
// back. A pod of an API server, or of the host program, is refused: its owner makes another.
func waitsForHolder(pod *v1.Pod, refusal PodAdmitResult) bool {
	if !podmanager.IsStaticPod(pod) || len(refusal.Reasons) == 0 {
		return false
	}
	return !slices.ContainsFunc(refusal.Reasons, func(r Reason) bool { return r.Kind != KindHostPort && r.Kind != KindPodName })
}

// refusals puts a pod before the chain, and yields each refusal, or the panic of a handler.
func (h *Handlers) refusals(pod *v1.Pod, beside admission.Beside, trial bool) iter.Seq2[PodAdmitResult, error] {
	attrs := PodAdmitAttributes{Pod: pod, Trial: trial, sums: sums{beside.Staying}}
	if beside.Ending == nil || beside.Ending.Len() == 0 {
		return h.ask(attrs)
	}
	attrs.sums = append(attrs.sums, beside.Ending)
	inUse := nameInUse(pod, beside.Ending)
	return func(yield func(PodAdmitResult, error) bool) {
		if inUse.Admit || yield(inUse, nil) {
			h.ask(attrs)(yield)
		}
	}
}

func answerOf(r PodAdmitResult) admission.Answer {
	return admission.Answer{Admit: r.Admit, Reason: r.Reason, Message: r.Message, Pending: r.Pending, Short: r.short}
}

// nameInUse: a static pod does not start while a pod has its full name that the
// workers' line of that name does not have. They see to all others.
func nameInUse(pod *v1.Pod, ending admission.Taken) PodAdmitResult {
	if !podmanager.IsStaticPod(pod) {
		return admitted
	}
	for _, other := range ending.Named(pod.Namespace, pod.Name) {
		if other.RuntimeOnly && other.UID != pod.UID {
			return Refused(Reason{
				Kind: KindPodName, Reason: reasonName, Holder: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
				Message: fmt.Sprintf("the name %s/%s is taken by a pod that was started before this agent", pod.Namespace, pod.Name),
			})
		}
	}
	return admitted
}

// wait has a pod wait, and says so: at first by an event as well.
func (h *Handlers) wait(pod *v1.Pod, d admission.Decision) {
	w := h.waiting[pod.UID]
	first := w == nil
	if first {
		w = &waiter{pod: pod}
		h.waiting[pod.UID] = w
	}
	before := *w
	w.message, w.reason, w.short = h.sentence(d), waitingReason(d.Answer), ""
	if d.Answer.Full {
		w.short = d.Answer.Reason
	}
	h.deferred.set(pod.UID, Deferral{Reason: w.reason, Message: w.message, Until: d.Until})
	if d.Answer.Full && w.published && before.reason == w.reason && before.short == w.short {
		return // Only the numbers are new, as after each end of a pod. Deferred has them.
	}
	switch {
	case d.Answer.Full || d.Answer.Pending:
		if w.reason != before.reason && w.reason != ReasonAdmissionDeferred {
			h.tellWaits(w, d.Answer)
		}
	case first:
		h.config.Recorder.Event(pod, v1.EventTypeNormal, ReasonAdmissionDeferred, w.message)
		h.config.Log.Info("a pod waits for others to end", "pod", podmanager.FullName(pod), "uid", pod.UID, "message", w.message)
	}
	h.publish(w)
}

// waitingReason is the reason of a pod that waits.
func waitingReason(answer admission.Answer) string {
	switch {
	case answer.Full:
		return v1.PodReasonUnschedulable
	case answer.Pending && answer.Reason != "":
		return answer.Reason
	}
	return ReasonAdmissionDeferred
}

// tellWaits says that a pod waits for more than the end of pods that are ending.
func (h *Handlers) tellWaits(w *waiter, answer admission.Answer) {
	event, message := w.reason, "a pod waits for what the node cannot do"
	if answer.Full {
		event, message = reasonFailedScheduling, "a pod waits until the node has room"
	}
	h.config.Recorder.Event(w.pod, v1.EventTypeWarning, event, w.message)
	h.config.Log.Info(message, "pod", podmanager.FullName(w.pod), "uid", w.pod.UID, "reason", w.reason, "message", w.message)
}

// publish publishes the status of a pod that waits.
func (h *Handlers) publish(w *waiter) {
	status := v1.PodStatus{
		Phase: v1.PodPending, QOSClass: podstatus.QOSClass(w.pod), Reason: w.reason, Message: w.message,
		ObservedGeneration: w.pod.Generation,
	}
	if w.reason == v1.PodReasonUnschedulable { // As a scheduler says it.
		status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: w.reason, Message: w.message}}
	}
	h.publishIdle(w.pod, status)
}

// maxNamed is how many pods a sentence names.
const maxNamed = 3

// sentence says for what a pod waits.
func (h *Handlers) sentence(d admission.Decision) string {
	if d.Answer.Full {
		return d.Answer.Reason + ": " + d.Answer.Message + "; it waits until the node has room"
	}
	if len(d.For) == 0 {
		return d.Answer.Message
	}
	var names []string
	for i, uid := range d.For {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(d.For)-i))
			break
		}
		item, _ := h.places.admissionQueue.Ending().Get(uid)
		names = append(names, item.Namespace+"/"+item.Name)
	}
	if n := len(names); n > 1 {
		names[n-2] += " and " + names[n-1]
		names = slices.Delete(names, n-1, n)
	}
	return d.Answer.Message + "; it waits for the end of " + strings.Join(names, ", ")
}

// waitsAs renews what a pod that waits looks like, and has it asked about again.
func (h *Handlers) waitsAs(pod *v1.Pod) {
	h.waiting[pod.UID].pod = pod
	h.places.admissionQueue.Stay(usageOf(pod))
}

// waitsNoLonger forgets that a pod waits, and reports whether it did.
func (h *Handlers) waitsNoLonger(uid types.UID) bool {
	if h.waiting[uid] == nil {
		return false
	}
	delete(h.waiting, uid)
	delete(h.unpublished, uid)
	if e, evicted := h.deferred.drop(uid); evicted { // It was removed meanwhile, or is another pod by now.
		e.resolve(h.mayRunStill(uid))
	}
	h.places.admissionQueue.Leave(uid)
	return true
}

// SetWake implements WaitingHandler.
func (h *Handlers) SetWake(wake, clean func()) { h.wake, h.clean = wake, clean }

// HandleWaiting implements WaitingHandler.
func (h *Handlers) HandleWaiting(context.Context) (next time.Time, timed bool) {
	defer h.updateUsage()
	h.heed()
	graceOver, timed := h.seeToLeftovers()
	if h.config.Closed() {
		for _, uid := range h.places.admissionQueue.WaitingUIDs() {
			h.reject(h.waiting[uid].pod, shutdown)
		}
	}
	h.evictWaiting()
	if h.deferred.takeRecheck() {
		h.places.admissionQueue.Recheck()
	}
	decisions, limit, limited := h.places.admissionQueue.Review(h.config.Clock.Now(), h.review)
	for _, d := range decisions {
		pod := h.waiting[d.UID].pod
		if err := h.guard.Do("SyncHandler.HandleWaiting", func() { h.decided(pod, d) }); err != nil {
			h.config.Log.Error("a pod that waits has panicked and is added again by the next housekeeping", "pod", podmanager.FullName(pod), "uid", d.UID, "err", err)
			h.waitsNoLonger(d.UID)
			h.again[d.UID] = true
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(h.unpublished)) {
		next := h.unpublished[uid]
		h.publishIdle(next.pod, next.status)
	}
	return earlier(graceOver, timed, limit, limited)
}

// decided does what has been decided about a pod that waited.
func (h *Handlers) decided(pod *v1.Pod, d admission.Decision) {
	switch d.Verdict {
	case admission.Waits:
		h.wait(pod, d)
	case admission.Refused:
		h.reject(pod, PodAdmitResult{Reason: d.Answer.Reason, Message: d.Answer.Message})
	case admission.Admitted:
		if h.evicted(pod) {
			return
		}
		if h.waiting[d.UID].published { // Why it waited is no reason of what comes.
			h.config.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodPending, QOSClass: podstatus.QOSClass(pod)})
		}
		delete(h.waiting, d.UID)
		delete(h.unpublished, d.UID)
		h.start(pod)
	}
}

// askAgain has the admission queue ask again about pods whose question has panicked.
func (h *Handlers) askAgain() {
	for _, w := range h.waiting {
		if w.panics > 0 {
			h.places.admissionQueue.Recheck()
		}
	}
}

// adoptWaiting gives a worker to pods that wait and turn out to run: an agent before
// this one has started them, and the runtime did not show them when they came (F60).
// One that was evicted meanwhile is ended by its worker.
func (h *Handlers) adoptWaiting(running []runtime.Pod) {
	for i := range running {
		if w := h.waiting[running[i].UID]; w != nil && running[i].MayRun() && !h.config.Workers.View(w.pod.UID).Known {
			h.adopt(w.pod)
		}
	}
}

var _ WaitingHandler = (*Handlers)(nil)
