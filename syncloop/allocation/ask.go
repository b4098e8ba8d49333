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
	return t.decideUntilHandlerNeeded(now, effects)
}

// Review decides again about the waiting pods if something has changed or the limit of a pod is over. It
// appends an effect for each pod whose state or reason has changed.
func (t *Table) Review(now time.Time, effects []Effect) []Effect {
	if t.review == nil && (t.changed || t.hasWaiterPastLimit(now)) {
		t.review = &reviewProgress{stale: true}
	}
	return t.decideUntilHandlerNeeded(now, effects)
}

// Answer handles the answer of a handler to an Ask, and appends the effects that follow. An answer to a closed
// question has no effect. If something has changed since the Ask, the answer is outdated and the table asks the
// question again.
func (t *Table) Answer(id, revision uint64, a Answer, now time.Time, effects []Effect) []Effect {
	if j := t.open; j != nil && j.id == id && j.revision == revision && t.revision == revision {
		j.awaitsAnswer = false
		t.handleRuleAnswer(j, a)
	}
	return t.decideUntilHandlerNeeded(now, effects)
}

// decideUntilHandlerNeeded decides about the new pods and appends the effect of each decision. During a review
// it then also decides about the waiting pods. If it needs the answer of an admission handler, it appends an
// Ask effect and returns. While such an answer is outstanding, it does nothing.
func (t *Table) decideUntilHandlerNeeded(now time.Time, effects []Effect) []Effect {
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
			effects = t.applyArrivalDecision(j, now, effects)
		} else {
			effects = t.applyReviewDecision(j, now, effects)
		}
	}
}

// openNextDecision starts the decision about the next new pod, or about the next waiting pod of the review in
// progress. It skips a waiting pod that certainly still does not fit. If no pod is left, it finishes the review
// and returns false.
func (t *Table) openNextDecision() (opened bool) {
	if len(t.arrivals) > 0 {
		w := t.arrivals[0]
		place := t.waitPosition(w)
		t.open = t.openDecision(w, t.admittedAndWaitersBefore(place))
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
		*p = reviewProgress{others: t.admittedAndWaitersBefore(0), revision: t.revision}
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
		p.others.after.mustSubtractInPlace(w.claimed)
		p.index++
	}
	t.review = nil
	t.changed, t.recheckAll = false, false // The review has handled every change.
	return false
}

// openDecision starts a decision about a pod, which replaces the open decision, and returns it. The decision
// counts the given admitted and waiting pods, and the terminating pods except one with the same UID. If all
// pods for which the pod had to wait before are still terminating, it keeps them. In any other case it searches
// them again.
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

// isStillBlocked reports whether the pod waits for terminating pods that were found earlier, and all of them
// are still terminating.
func (t *Table) isStillBlocked(w *waiter) bool {
	return len(w.blockers) > 0 && !slices.ContainsFunc(w.blockers, func(uid types.UID) bool { return t.terminating.get(uid) == nil })
}

// terminatingByExpectedEnd returns the UIDs of the terminating pods without except, sorted by the end of their
// grace period and then by UID.
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

// expectedEnd returns the time at which the grace period of a terminating pod is over. It panics if no pod of
// the UID terminates.
func (t *Table) expectedEnd(uid types.UID) time.Time { return t.records[uid].current.termination.Until }

// askChain runs the admission rules, in their order and once for each question of the decision, until the
// decision is complete; it then returns true. If the next rule is a handler of the host program, it returns an
// Ask effect and false.
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
		t.handleRuleAnswer(j, a)
	}
	return Effect{}, true
}

// handleRuleAnswer handles the answer of one rule or handler. A panic or a decisive refusal becomes the answer
// of the whole chain. The first other refusal is stored as a Pending answer, which applies if no later rule
// refuses decisively.
func (t *Table) handleRuleAnswer(j *job, a Answer) {
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

// handleChainAnswer handles the answer of the whole chain to the current question. A panic about a new pod
// completes the decision. A panic about a waiting pod is counted: after the first in a row the pod goes on
// waiting, and a later one is handled as a refusal.
func (t *Table) handleChainAnswer(j *job, a Answer) {
	j.chainIndex = -1
	if !a.Fault {
		j.w.faults = 0
		j.handleAnswer(a)
		return
	}
	if j.isArrival {
		j.answer = a
		j.setVerdictAndFinish(Rejected)
		return
	}
	j.w.faults++
	a.firstPanic = j.w.faults == 1
	j.handleAnswer(a)
}

// applyArrivalDecision applies the decision about a new pod: it stores the pod's state and appends the effect.
// An admitted or waiting pod then counts with what it claims, and a waiting pod is added to the waiting pods.
// If a rule panicked, the pod is forgotten and the effect is Postpone.
func (t *Table) applyArrivalDecision(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	t.arrivals = t.arrivals[1:]
	t.storeAnswerAndWaitLimit(j, now)
	t.recordChangeForUsage(uid, inStaying)
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

// applyReviewDecision stores the decision about a waiting pod. It rejects a pod that must still wait if its
// time limit is over. It appends an effect for an admitted or rejected pod and removes the pod from the waiting
// pods. A pod that waits on gets an effect only if its reasons, or the pods that it waits for, have changed.
func (t *Table) applyReviewDecision(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	answer, blocked := w.answer, w.blockers
	t.storeAnswerAndWaitLimit(j, now)
	if j.verdict == Waiting && w.isWaitLimitOver(now) {
		j.verdict, w.blockers = Rejected, nil
	}
	t.review.others.after.mustSubtractInPlace(w.claimed)
	switch j.verdict {
	case Waiting:
		t.review.index++
		if w.answer.equalsExceptShortage(answer) && slices.Equal(w.blockers, blocked) {
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
	t.recordChangeForUsage(uid, inStaying)
	return append(effects, w.effectFor(j.verdict))
}

// storeAnswerAndWaitLimit stores the answer about a pod and, if the pod waits for terminating pods, these pods
// and its time limit. Only a pod that is not patient has a limit: Margin after the last of their grace periods.
// A limit is not changed afterwards, except that a Pending answer clears it.
func (t *Table) storeAnswerAndWaitLimit(j *job, now time.Time) {
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

// latestExpectedEnd returns the latest end of the grace periods of these terminating pods, or now if no period
// ends later.
func (t *Table) latestExpectedEnd(uids []types.UID, now time.Time) time.Time {
	for _, uid := range uids {
		if until := t.expectedEnd(uid); until.After(now) {
			now = until
		}
	}
	return now
}

// hasWaiterPastLimit reports whether the time limit of any waiting pod is over.
func (t *Table) hasWaiterPastLimit(now time.Time) bool {
	return t.impatient > 0 && slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.isWaitLimitOver(now) })
}

// isWaitLimitOver reports whether the pod has a time limit for its wait and the limit is over.
func (w *waiter) isWaitLimitOver(now time.Time) bool {
	return !w.until.IsZero() && !now.Before(w.until)
}

// effectFor returns the effect of a verdict on the pod: Admit, Reject, or Wait for any other verdict. It has
// the stored answer, blockers and time limit of the pod.
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
