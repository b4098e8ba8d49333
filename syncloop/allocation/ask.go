package allocation

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// job is a decision about one pod while the rules and handlers of the chain are asked.
type job struct {
	decision
	w        *waiter
	arrives  bool
	place    int  // of a pod that arrives
	waits    bool // for an answer
	snapshot Snapshot
	link     int    // of the chain; -1: the question is new
	held     Answer // a refusal that does not decide, unless none comes after it
	id       uint64
	revision uint64
}

// pass is a review. The table decides about one waiting pod after the other, each beside the pods that stay
// and the pods that wait before it.
type pass struct {
	at       int // in Table.waiting
	beside   *before
	revision uint64
	stale    bool // it has to begin again
}

// Add decides about a pod that has arrived, in place of the pod that its UID had. A patient pod waits without
// a limit. Add appends the effects. One of them is about the pod, or is an Ask: then the Answer appends the
// others. The table decides about pods in the order of Add.
func (t *Table) Add(pod Pod, patient bool, now time.Time, effects []Effect) []Effect {
	t.Remove(pod.UID)
	w := &waiter{pod: pod, patient: patient}
	t.set(pod.UID, Arriving, w)
	t.arrivals = append(t.arrivals, w)
	return t.run(now, effects)
}

// Review decides again about the pods that wait, if something has changed or the limit of a pod is over. It
// appends an effect for each pod whose state or reason has changed.
func (t *Table) Review(now time.Time, effects []Effect) []Effect {
	if t.pass == nil && (t.changed || t.hasLate(now)) {
		t.pass = &pass{stale: true}
	}
	return t.run(now, effects)
}

// Answer takes the answer of a handler to an Ask, and appends the effects that follow. An answer to a question
// that is no longer open has no effect. If something has changed since the Ask, the question is asked again.
func (t *Table) Answer(id, revision uint64, a Answer, now time.Time, effects []Effect) []Effect {
	if j := t.open; j != nil && j.id == id && j.revision == revision && t.revision == revision {
		j.waits = false
		t.handleAnswer(j, a)
	}
	return t.run(now, effects)
}

// run decides about the pods that arrive, then about the pods that wait, until it has to ask a handler.
func (t *Table) run(now time.Time, effects []Effect) []Effect {
	if t.open != nil && t.open.revision != t.revision {
		t.open = nil // Each question may have another answer.
	}
	if t.open != nil && t.open.waits {
		return effects
	}
	for {
		if t.open == nil && !t.openNext() {
			return effects
		}
		ask, done := t.proceed(t.open)
		if !done {
			return append(effects, ask)
		}
		j := t.open
		t.open = nil
		if j.arrives {
			effects = t.finishArrival(j, now, effects)
		} else {
			effects = t.finishReview(j, now, effects)
		}
	}
}

// openNext opens the decision about the next pod, and reports false if there is none.
func (t *Table) openNext() bool {
	if len(t.arrivals) > 0 {
		w := t.arrivals[0]
		place := t.place(w)
		t.open = t.decide(w, t.before(place))
		t.open.arrives, t.open.place = true, place
		if t.pass != nil {
			t.pass.stale = true // The pod may have taken a place among those that wait.
		}
		return true
	}
	p := t.pass
	if p == nil {
		return false
	}
	if p.stale || p.revision != t.revision {
		*p = pass{beside: t.before(0), revision: t.revision}
		t.changed = false
	}
	for p.at < len(t.waiting) {
		w := t.waiting[p.at]
		p.beside.place = w.at
		if !w.answer.Full || t.anew || w.renewed || !w.answer.Shortage.stands(p.beside) {
			w.renewed = false
			t.open = t.decide(w, p.beside)
			return true
		}
		// The shortage stands, so no rule is asked: a pod that waits costs a review a few additions.
		p.beside.after.sub(w.claimed)
		p.at++
	}
	t.pass = nil
	t.changed, t.anew = false, false // The review has taken every change into account.
	return false
}

// decide begins a decision about a pod, beside the pods of staying and the pods that are ending.
func (t *Table) decide(w *waiter, staying *before) *job {
	j := &t.job // One decision is open at a time.
	*j = job{w: w, link: -1, revision: t.revision}
	j.decision = decision{
		pod: &w.pod, whenFull: t.waitWhenFull && w.patient,
		staying: staying, ending: without{&t.ending, []types.UID{w.pod.UID}}, // A pod does not wait for its own previous incarnation.
	}
	if t.stillBlocked(w) {
		j.needed = w.blocked
	} else {
		j.ledger, j.blockers = &t.ending, func() []types.UID { return t.blockers(w.pod.UID) }
	}
	return j
}

// stillBlocked reports whether all pods that the pod was said to wait for still have to end.
func (t *Table) stillBlocked(w *waiter) bool {
	return len(w.blocked) > 0 && !slices.ContainsFunc(w.blocked, func(uid types.UID) bool { return t.ending.get(uid) == nil })
}

// blockers returns the pods that are ending, in the order in which they should end.
func (t *Table) blockers(except types.UID) []types.UID {
	var all []types.UID
	for uid := range t.ending.items {
		if uid != except {
			all = append(all, uid)
		}
	}
	slices.SortFunc(all, func(a, b types.UID) int {
		return cmp.Or(t.until(a).Compare(t.until(b)), cmp.Compare(a, b))
	})
	return all
}

// until returns when a pod that is ending should have ended.
func (t *Table) until(uid types.UID) time.Time { return t.records[uid].current.end.Until }

// proceed asks the chain, question after question, until the decision is complete or a handler has to
// be asked.
func (t *Table) proceed(j *job) (ask Effect, done bool) {
	for j.step != decided {
		if j.link < 0 {
			j.snapshot, j.link, j.held = snapshot(j.question()), 0, Answer{Admit: true}
			if reasons := j.snapshot.NameConflicts(j.pod); len(reasons) > 0 {
				t.handleChainAnswer(j, NewAnswer(reasons...))
				continue
			}
		}
		if j.link == len(t.chain.rules) {
			t.handleChainAnswer(j, j.held)
			continue
		}
		if t.chain.rules[j.link] == nil {
			t.asked++
			j.id, j.waits = t.asked, true
			return Effect{Kind: Ask, UID: j.pod.UID, ID: j.id, Revision: j.revision, Index: j.link, Pod: j.pod, Snapshot: j.snapshot}, false
		}
		reasons := t.chain.Check(j.link, j.pod, j.snapshot)
		a := NewAnswer(reasons...)
		a.Shortage = t.chain.Shortage(j.link, reasons)
		t.handleAnswer(j, a)
	}
	return Effect{}, true
}

// handleAnswer handles the answer of one rule or handler to the question.
func (t *Table) handleAnswer(j *job, a Answer) {
	j.link++
	switch {
	case a.Admit:
	case a.Fault || j.snapshot.IsDecisive(j.pod, a):
		t.handleChainAnswer(j, a)
	case j.held.Admit:
		j.held = a
		j.held.Pending = true
	}
}

// handleChainAnswer handles the answer of the whole chain to the question. A pod that waits goes on waiting
// after a first panic. A second panic is a refusal.
func (t *Table) handleChainAnswer(j *job, a Answer) {
	j.link = -1
	if !a.Fault {
		j.w.faults = 0
		j.take(a)
		return
	}
	if j.arrives {
		j.answer = a
		j.conclude(Rejected)
		return
	}
	j.w.faults++
	a.unknown = j.w.faults == 1
	j.take(a)
}

// finishArrival applies the decision about a pod that has arrived.
func (t *Table) finishArrival(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	t.arrivals = t.arrivals[1:]
	t.conclude(j, now)
	t.touch(uid, inStaying)
	if j.answer.Fault {
		t.set(uid, Unknown, nil)
		return append(effects, Effect{Kind: Postpone, UID: uid, Answer: j.answer})
	}
	if j.verdict != Rejected {
		t.staying.put(w.pod)
		t.revision++
		t.changed = t.changed || j.place < len(t.waiting) // Less is left for those after it.
	}
	switch j.verdict {
	case Waiting:
		w.claimed = amountsOf(&w.pod)
		t.waiting = slices.Insert(t.waiting, j.place, w)
		t.set(uid, Waiting, w)
		if !w.patient {
			t.limited++
		}
	case Admitted:
		t.set(uid, Admitted, nil)
	case Rejected:
		t.set(uid, Rejected, nil)
	}
	return append(effects, w.effect(j.verdict))
}

// finishReview applies the decision about a pod that waits.
func (t *Table) finishReview(j *job, now time.Time, effects []Effect) []Effect {
	w, uid := j.w, j.w.pod.UID
	answer, blocked := w.answer, w.blocked
	t.conclude(j, now)
	if j.verdict == Waiting && w.isLate(now) {
		j.verdict, w.blocked = Rejected, nil
	}
	t.pass.beside.after.sub(w.claimed)
	switch j.verdict {
	case Waiting:
		t.pass.at++
		if w.answer.same(answer) && slices.Equal(w.blocked, blocked) {
			return effects
		}
		return append(effects, w.effect(Waiting))
	case Rejected:
		t.staying.remove(uid)
		t.set(uid, Rejected, nil)
	case Admitted:
		t.set(uid, Admitted, nil)
	}
	t.stopWaiting(w)
	t.waiting = slices.Delete(t.waiting, t.pass.at, t.pass.at+1)
	t.touch(uid, inStaying)
	return append(effects, w.effect(j.verdict))
}

// conclude notes which pods a pod waits for, and its limit. A pod that is not patient waits until those pods
// should have ended, and Margin longer. A Pending pod has no limit.
func (t *Table) conclude(j *job, now time.Time) {
	w := j.w
	w.answer, w.blocked = j.answer, nil
	if j.verdict != Waiting || w.answer.unknown {
		return
	}
	if w.answer.Pending {
		w.until = time.Time{}
		return
	}
	if !w.answer.Full {
		w.blocked = j.needed
	}
	if !w.patient && w.until.IsZero() {
		w.until = t.expected(w.blocked, now).Add(Margin)
	}
}

// expected returns when the last of these pods should have ended, and not less than now.
func (t *Table) expected(uids []types.UID, now time.Time) time.Time {
	for _, uid := range uids {
		if until := t.until(uid); until.After(now) {
			now = until
		}
	}
	return now
}

func (t *Table) hasLate(now time.Time) bool {
	return t.limited > 0 && slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.isLate(now) })
}

func (w *waiter) isLate(now time.Time) bool { return !w.until.IsZero() && !now.Before(w.until) }

// effect returns the effect of a verdict on the pod.
func (w *waiter) effect(verdict State) Effect {
	e := Effect{Kind: Wait, UID: w.pod.UID, Answer: w.answer, Blockers: w.blocked, Until: w.until}
	switch verdict {
	case Admitted:
		e.Kind = Admit
	case Rejected:
		e.Kind = Reject
	}
	return e
}
