package allocation

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// job is the decision about one pod while rules and handlers are asked.
type job struct {
	decision
	w            *waiter
	isArrival    bool
	position     int  // index among the waiting pods, if the pod arrives
	awaitsAnswer bool // a handler has been asked and has not answered
	snapshot     Snapshot
	chainIndex   int    // index in the chain; -1: the question has not been asked yet
	tentative    Answer // a refusal that counts only if no later one is decisive
	id           uint64
	revision     uint64
}

// reviewProgress is a review in progress. The table decides about one waiting pod after the other, each beside
// the admitted pods and the waiting pods before it.
type reviewProgress struct {
	index    int // index in Table.waiting
	others   *waitOrderPrefix
	revision uint64
	stale    bool // the review has to start again
}

// Add decides about a new pod, which replaces an earlier pod of its UID. A patient pod waits without a limit.
// Add appends the effects. One of them is about the pod, or is an Ask; then Answer appends the others. The
// table decides about new pods in the order of Add.
func (t *Table) Add(pod Pod, patient bool, now time.Time, effects []Effect) []Effect {
	t.Remove(pod.UID)
	w := &waiter{pod: pod, patient: patient}
	t.setState(pod.UID, Arriving, w)
	t.arrivals = append(t.arrivals, w)
	return t.decideUntilAsk(now, effects)
}

// Review decides again about the waiting pods if something has changed or the limit of a pod is over. It
// appends an effect for each pod whose state or reason has changed.
func (t *Table) Review(now time.Time, effects []Effect) []Effect {
	if t.review == nil && (t.changed || t.hasOverdueWaiter(now)) {
		t.review = &reviewProgress{stale: true}
	}
	return t.decideUntilAsk(now, effects)
}

// Answer handles the answer of a handler to an Ask, and appends the effects that follow. An answer to a closed
// question has no effect. If something has changed since the Ask, the answer is outdated and the table asks the
// question again.
func (t *Table) Answer(id, revision uint64, a Answer, now time.Time, effects []Effect) []Effect {
	if j := t.open; j != nil && j.id == id && j.revision == revision && t.revision == revision {
		j.awaitsAnswer = false
		t.handleAnswer(j, a)
	}
	return t.decideUntilAsk(now, effects)
}

// decideUntilAsk decides about the arriving pods and then about the waiting pods, until a handler has to be
// asked.
func (t *Table) decideUntilAsk(now time.Time, effects []Effect) []Effect {
	if t.open != nil && t.open.revision != t.revision {
		t.open = nil // Every answer may have changed.
	}
	if t.open != nil && t.open.awaitsAnswer {
		return effects
	}
	for {
		if t.open == nil && !t.openNextDecision() {
			return effects
		}
		ask, done := t.askChain(t.open)
		if !done {
			return append(effects, ask)
		}
		j := t.open
		t.open = nil
		if j.isArrival {
			effects = t.finishArrival(j, now, effects)
		} else {
			effects = t.finishReview(j, now, effects)
		}
	}
}

// openNextDecision opens the decision about the next pod, and returns false if there is none.
func (t *Table) openNextDecision() bool {
	if len(t.arrivals) > 0 {
		w := t.arrivals[0]
		place := t.waitPosition(w)
		t.open = t.openDecision(w, t.podsBefore(place))
		t.open.isArrival, t.open.position = true, place
		if t.review != nil {
			t.review.stale = true // The pod may get a position among the waiting pods.
		}
		return true
	}
	p := t.review
	if p == nil {
		return false
	}
	if p.stale || p.revision != t.revision {
		*p = reviewProgress{others: t.podsBefore(0), revision: t.revision}
		t.changed = false
	}
	for p.index < len(t.waiting) {
		w := t.waiting[p.index]
		p.others.place = w.position
		if !w.answer.WaitsWhenFull || t.recheckAll || w.claimsChanged || !w.answer.Shortage.isStillShort(p.others) {
			w.claimsChanged = false
			t.open = t.openDecision(w, p.others)
			return true
		}
		// The pod still does not fit, so no rule is asked. This costs only a few additions.
		p.others.after.subtract(w.claimed)
		p.index++
	}
	t.review = nil
	t.changed, t.recheckAll = false, false // The review has handled every change.
	return false
}

// openDecision opens the decision about a pod beside the staying and the terminating pods.
func (t *Table) openDecision(w *waiter, staying *waitOrderPrefix) *job {
	j := &t.job // Only one decision is open at a time.
	*j = job{w: w, chainIndex: -1, revision: t.revision}
	j.decision = decision{
		pod: &w.pod, whenFull: t.waitWhenFull && w.patient,
		staying: staying, terminating: ledgerWithout{&t.terminating, []types.UID{w.pod.UID}}, // A pod does not wait for its own previous incarnation.
	}
	if t.isStillBlocked(w) {
		j.blockers = w.blockers
	} else {
		j.ledger, j.terminatingByEnd = &t.terminating, func() []types.UID { return t.terminatingByExpectedEnd(w.pod.UID) }
	}
	return j
}

// isStillBlocked reports whether all pods that the pod waits for are still terminating.
func (t *Table) isStillBlocked(w *waiter) bool {
	return len(w.blockers) > 0 && !slices.ContainsFunc(w.blockers, func(uid types.UID) bool { return t.terminating.get(uid) == nil })
}

// terminatingByExpectedEnd returns the terminating pods in the order of the ends of their grace periods.
func (t *Table) terminatingByExpectedEnd(except types.UID) []types.UID {
	var all []types.UID
	for uid := range t.terminating.items {
		if uid != except {
			all = append(all, uid)
		}
	}
	slices.SortFunc(all, func(a, b types.UID) int {
		return cmp.Or(t.expectedEnd(a).Compare(t.expectedEnd(b)), cmp.Compare(a, b))
	})
	return all
}

// expectedEnd returns when the grace period of a terminating pod is over.
func (t *Table) expectedEnd(uid types.UID) time.Time { return t.records[uid].current.termination.Until }

// askChain asks the rules of the chain until the decision is complete, or until a handler has to be asked.
// Then it returns the Ask effect and false.
func (t *Table) askChain(j *job) (ask Effect, done bool) {
	for j.step != decisionDone {
		if j.chainIndex < 0 {
			j.snapshot, j.chainIndex, j.tentative = newSnapshot(j.podsBeside()), 0, Answer{Admit: true}
			if reasons := j.snapshot.NameConflicts(j.pod); len(reasons) > 0 {
				t.handleChainAnswer(j, NewAnswer(reasons...))
				continue
			}
		}
		if j.chainIndex == len(t.chain.rules) {
			t.handleChainAnswer(j, j.tentative)
			continue
		}
		if t.chain.rules[j.chainIndex] == nil {
			t.questions++
			j.id, j.awaitsAnswer = t.questions, true
			return Effect{Kind: Ask, UID: j.pod.UID, ID: j.id, Revision: j.revision, Index: j.chainIndex, Pod: j.pod, Snapshot: j.snapshot}, false
		}
		reasons := t.chain.Check(j.chainIndex, j.pod, j.snapshot)
		a := NewAnswer(reasons...)
		a.Shortage = t.chain.Shortage(j.chainIndex, reasons)
		t.handleAnswer(j, a)
	}
	return Effect{}, true
}

// handleAnswer handles the answer of one rule or handler.
func (t *Table) handleAnswer(j *job, a Answer) {
	j.chainIndex++
	switch {
	case a.Admit:
	case a.Fault || j.snapshot.IsDecisive(j.pod, a):
		t.handleChainAnswer(j, a)
	case j.tentative.Admit:
		j.tentative = a
		j.tentative.Pending = true
	}
}

// handleChainAnswer handles the answer of the whole chain to a question. A panic about an arriving pod ends
// the decision. A waiting pod goes on waiting after a first panic; a second panic counts as a refusal.
func (t *Table) handleChainAnswer(j *job, a Answer) {
	j.chainIndex = -1
	if !a.Fault {
		j.w.faults = 0
		j.handleAnswer(a)
		return
	}
	if j.isArrival {
		j.answer = a
		j.setVerdict(Rejected)
		return
	}
	j.w.faults++
	a.firstPanic = j.w.faults == 1
	j.handleAnswer(a)
}

// finishArrival applies the decision about an arriving pod.
func (t *Table) finishArrival(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	t.arrivals = t.arrivals[1:]
	t.recordVerdict(j, now)
	t.recordChange(uid, inStaying)
	if j.answer.Fault {
		t.setState(uid, Unknown, nil)
		return append(effects, Effect{Kind: Postpone, UID: uid, Answer: j.answer})
	}
	if j.verdict != Rejected {
		t.staying.putPod(w.pod)
		t.revision++
		t.changed = t.changed || j.position < len(t.waiting) // Less is left for the pods after it.
	}
	switch j.verdict {
	case Waiting:
		w.claimed = claimedAmounts(&w.pod)
		t.waiting = slices.Insert(t.waiting, j.position, w)
		t.setState(uid, Waiting, w)
		if !w.patient {
			t.impatient++
		}
	case Admitted:
		t.setState(uid, Admitted, nil)
	case Rejected:
		t.setState(uid, Rejected, nil)
	}
	return append(effects, w.effectFor(j.verdict))
}

// finishReview applies the decision about a waiting pod.
func (t *Table) finishReview(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	answer, blocked := w.answer, w.blockers
	t.recordVerdict(j, now)
	if j.verdict == Waiting && w.isOverdue(now) {
		j.verdict, w.blockers = Rejected, nil
	}
	t.review.others.after.subtract(w.claimed)
	switch j.verdict {
	case Waiting:
		t.review.index++
		if w.answer.equals(answer) && slices.Equal(w.blockers, blocked) {
			return effects
		}
		return append(effects, w.effectFor(Waiting))
	case Rejected:
		t.staying.removePod(uid)
		t.setState(uid, Rejected, nil)
	case Admitted:
		t.setState(uid, Admitted, nil)
	}
	t.decrementImpatient(w)
	t.waiting = slices.Delete(t.waiting, t.review.index, t.review.index+1)
	t.recordChange(uid, inStaying)
	return append(effects, w.effectFor(j.verdict))
}

// recordVerdict stores the answer about a pod, its blockers and its limit. A pod that is not patient may wait
// until Margin after the grace periods of its blockers. The limit is set once. A Pending pod has no limit; if it
// waits for blockers afterwards, it gets a new one.
func (t *Table) recordVerdict(j *job, now time.Time) {
	w := j.w
	w.answer, w.blockers = j.answer, nil
	if j.verdict != Waiting || w.answer.firstPanic {
		return
	}
	if w.answer.Pending {
		w.until = time.Time{}
		return
	}
	if !w.answer.WaitsWhenFull {
		w.blockers = j.blockers
	}
	if !w.patient && w.until.IsZero() {
		w.until = t.latestExpectedEnd(w.blockers, now).Add(Margin)
	}
}

// latestExpectedEnd returns the latest expected end of these pods, or now if all of them have passed.
func (t *Table) latestExpectedEnd(uids []types.UID, now time.Time) time.Time {
	for _, uid := range uids {
		if until := t.expectedEnd(uid); until.After(now) {
			now = until
		}
	}
	return now
}

// hasOverdueWaiter reports whether the limit of a waiting pod is over.
func (t *Table) hasOverdueWaiter(now time.Time) bool {
	return t.impatient > 0 && slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.isOverdue(now) })
}

// isOverdue reports whether the limit of the pod is over.
func (w *waiter) isOverdue(now time.Time) bool { return !w.until.IsZero() && !now.Before(w.until) }

// effectFor returns the effect of a verdict on the pod.
func (w *waiter) effectFor(verdict State) Effect {
	e := Effect{Kind: Wait, UID: w.pod.UID, Answer: w.answer, Blockers: w.blockers, Until: w.until}
	switch verdict {
	case Admitted:
		e.Kind = Admit
	case Rejected:
		e.Kind = Reject
	}
	return e
}
