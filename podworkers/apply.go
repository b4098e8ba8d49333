package podworkers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// actions are what must be done after the lock is released: they run code of
// others, or wake them. There is seldom more than one, which is kept in place
// and costs no allocation.
type actions struct {
	timer bool // the earliest retry became earlier
	first action
	more  []action
}

// action is the part of an effect that lies outside the lock.
type action struct {
	op          lifecycle.Op
	phase       lifecycle.Phase      // OpPhase
	outcome     lifecycle.Resolution // OpResolve
	start       func()               // OpWake
	cancel      *syncContext         // OpCancel
	resolve     *Completion          // OpResolve
	uid         types.UID            // OpPhase, OpForget, OpCompare
	incarnation uint64               // OpPhase, OpCompare
	ref         lifecycle.Ref        // OpCompare
}

// add makes room for one more action, to be filled in.
func (a *actions) add(op lifecycle.Op) *action {
	if a.first.op == 0 {
		a.first.op = op
		return &a.first
	}
	a.more = append(a.more, action{op: op})
	return &a.more[len(a.more)-1]
}

// verdict is what a finished call adds to the table's effects: how long until
// the retry that they may ask for.
type verdict struct {
	now, at time.Time
	exact   time.Time // the attempt is not later; zero: chance alone decides
	random  float64
}

// maxKeptEffects bounds the buffer that is kept for re-use: a housekeeping
// that ends a hundred thousand pods must not hold on to its memory for ever.
const maxKeptEffects = 1024

// applyLocked does, in their order, what the table's effects ask of the shell's
// own memory, and collects the rest.
func (w *Workers) applyLocked(act *actions, v *verdict) {
	for i := range w.mu.effects {
		switch e := &w.mu.effects[i]; e.Op {
		case lifecycle.OpRequeue:
			w.requeueLocked(act, e, v)
		case lifecycle.OpUnqueue:
			w.mu.queue.Remove(e.UID)
			act.timer = act.timer || w.mu.queue.err != nil
		default:
			w.effectLocked(act, e)
		}
	}
	if cap(w.mu.effects) > maxKeptEffects {
		w.mu.effects = nil
	}
	w.mu.effects = w.mu.effects[:0]
}

func (w *Workers) effectLocked(act *actions, e *lifecycle.Effect) {
	switch e.Op {
	case lifecycle.OpWake:
		w.wakeLocked(act, w.recordLocked(e.Ref).run)
	case lifecycle.OpCancel:
		act.add(e.Op).cancel = w.recordLocked(e.Ref).running.ctx
	case lifecycle.OpResolve:
		w.resolveLocked(act, e)
	case lifecycle.OpPhase:
		w.enterLocked(act, e)
	case lifecycle.OpPromote:
		w.recordLocked(e.Ref).promote()
	case lifecycle.OpDiscard:
		w.recordLocked(e.Ref).next = nil
	case lifecycle.OpForget:
		w.forgetLocked(act, e)
	case lifecycle.OpCompare:
		a := act.add(e.Op)
		a.ref, a.uid, a.incarnation = e.Ref, e.UID, e.Incarnation
	}
}

// wakeLocked makes sure that somebody takes the pod's work. Before Run the
// runner is kept. That the pod may be forgotten until then does no harm: a
// runner is bound to its version of the record and finds no work there.
func (w *Workers) wakeLocked(act *actions, run func()) {
	switch w.mu.stage {
	case created:
		w.mu.parked = append(w.mu.parked, run)
	case serving:
		w.mu.runners++
		act.add(lifecycle.OpWake).start = run
	}
}

// requeueLocked puts the pod's one entry into the queue. Run is disturbed only
// if it sleeps for longer than that.
func (w *Workers) requeueLocked(act *actions, e *lifecycle.Effect, v *verdict) {
	retry := w.config.Retry.Rising(w.recordLocked(e.Ref).transients - 1)
	delay := retry.Delay(e.Class, v.now, v.at, v.random)
	if e.Class == backoff.Asked && !v.exact.IsZero() {
		delay = min(delay, retry.Delay(e.Class, v.now, v.exact, 0))
	}
	due := v.now.Add(delay)
	w.mu.queue.EnqueueAt(e.UID, due)
	if w.mu.queue.err != nil || w.mu.alarm.IsZero() || due.Before(w.mu.alarm) {
		w.mu.alarm = due
		act.timer = true
	}
}

func (w *Workers) enterLocked(act *actions, e *lifecycle.Effect) {
	if e.Phase == lifecycle.Finished {
		r := w.recordLocked(e.Ref)
		r.content = content{}
	}
	if w.config.Hooks.Phase != nil {
		a := act.add(e.Op)
		a.uid, a.incarnation, a.phase = e.UID, e.Incarnation, e.Phase
	}
}

func (w *Workers) resolveLocked(act *actions, e *lifecycle.Effect) {
	a := act.add(e.Op)
	a.resolve, a.outcome = w.mu.kills[e.Ticket], e.Resolution
	delete(w.mu.kills, e.Ticket)
}

// forgetLocked clears the record. How fresh an observation must be is kept: a
// UID that comes back must not be shown what was seen of its old incarnation. One
// number is kept for all UIDs, the newest, or this memory would grow for ever.
func (w *Workers) forgetLocked(act *actions, e *lifecycle.Effect) {
	r := w.mu.records.at(e.Ref)
	w.mu.mark = max(w.mu.mark, r.mark)
	*r = record{}
	if w.config.Hooks.Forgotten != nil {
		act.add(e.Op).uid = e.UID
	}
}

// failure is what a kill's handle says of an outcome.
func failure(o lifecycle.Resolution) error {
	switch {
	case o.Down():
		return nil
	case o == lifecycle.PodDesired:
		return ErrPodDesired
	}
	return ErrStopped
}

// do performs what was collected, with no lock held.
func (w *Workers) do(act *actions) {
	w.perform(&act.first)
	for i := range act.more {
		w.perform(&act.more[i])
	}
	if act.timer {
		w.wake.Signal()
	}
}

func (w *Workers) perform(a *action) {
	switch a.op {
	case lifecycle.OpWake:
		w.goroutines.Go(a.start)
	case lifecycle.OpCancel:
		a.cancel.Cancel(context.Canceled)
	case lifecycle.OpResolve:
		a.resolve.Resolve(failure(a.outcome))
	case lifecycle.OpPhase:
		w.config.Hooks.Phase(a.uid, a.incarnation, a.phase)
	case lifecycle.OpForget:
		w.config.Hooks.Forgotten(a.uid)
	case lifecycle.OpCompare:
		w.compare(a.uid, a.ref, a.incarnation)
	}
}
