package podworkers

import (
	"context"
	"time"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/workqueue"
)

// actions are what must be done after the lock is released: they run code of
// others, or wake them. The first few are kept in place, where they cost no
// allocation.
type actions struct {
	count int
	first [2]action
	more  []action
}

// action is one of: start a runner, cancel a call, resolve a kill, tell a hook.
type action struct {
	start   func()
	cancel  *syncContext
	resolve *Completion
	err     error // with resolve
	tell    lifecycle.Effect
	timer   bool // the earliest retry may have changed
}

func (a *actions) add(x action) {
	if a.count < len(a.first) {
		a.first[a.count] = x
		a.count++
		return
	}
	a.more = append(a.more, x)
}

// verdict is what a finished call adds to the table's effects: how long until
// the retry that they may ask for.
type verdict struct {
	now, at time.Time
	random  float64
}

// applyLocked does, in their order, what the table's effects ask of the shell's
// own memory, and collects the rest.
func (w *Workers) applyLocked(act *actions, v verdict) {
	for i := range w.mu.effects {
		w.effectLocked(act, &w.mu.effects[i], v)
	}
	w.mu.effects = w.mu.effects[:0]
}

func (w *Workers) effectLocked(act *actions, e *lifecycle.Effect, v verdict) {
	switch e.Op {
	case lifecycle.OpWake:
		w.wakeLocked(act, e.Ref)
	case lifecycle.OpCancel:
		act.add(action{cancel: w.recordLocked(e.Ref).running})
	case lifecycle.OpRequeue:
		w.queue.Enqueue(e.UID, w.config.Retry.Delay(outcomes[e.Class], v.now, v.at, v.random))
		act.add(action{timer: true})
	case lifecycle.OpUnqueue:
		w.queue.Remove(e.UID)
	case lifecycle.OpResolve:
		act.add(action{resolve: w.mu.kills[e.Ticket], err: failure(e.Outcome)})
		delete(w.mu.kills, e.Ticket)
	case lifecycle.OpPhase:
		if e.Phase == lifecycle.Finished {
			r := w.recordLocked(e.Ref)
			r.content, r.amend = content{}, nil
		}
		if w.config.Hooks.Phase != nil {
			act.add(action{tell: *e})
		}
	case lifecycle.OpPromote:
		w.recordLocked(e.Ref).promote()
	case lifecycle.OpDiscard:
		w.recordLocked(e.Ref).next = nil
	case lifecycle.OpForget:
		w.forgetLocked(act, e)
	}
}

// outcomes translates the table's classes into the queue's.
var outcomes = [...]workqueue.Outcome{
	lifecycle.Resync:    workqueue.Succeeded,
	lifecycle.Backoff:   workqueue.Failed,
	lifecycle.Transient: workqueue.FailedTransiently,
	lifecycle.Asked:     workqueue.BackedOff,
}

// failure is what a kill's handle says of an outcome.
func failure(o lifecycle.Outcome) error {
	switch {
	case o.Down():
		return nil
	case o == lifecycle.Spared:
		return ErrSpared
	}
	return ErrStopped
}

// forgetLocked clears the record. How fresh an observation must be is kept: a
// UID that comes back must not be shown what was seen of its old life.
func (w *Workers) forgetLocked(act *actions, e *lifecycle.Effect) {
	r := w.mu.records.at(e.Ref)
	w.mu.mark = max(w.mu.mark, r.mark)
	*r = record{}
	if w.config.Hooks.Forgotten != nil {
		act.add(action{tell: *e})
	}
}

// wakeLocked makes sure that somebody takes the pod's work.
func (w *Workers) wakeLocked(act *actions, ref lifecycle.Ref) {
	switch w.mu.stage {
	case created:
		w.mu.parked = append(w.mu.parked, ref)
	case serving:
		w.spawnLocked(act, ref)
	}
}

func (w *Workers) spawnLocked(act *actions, ref lifecycle.Ref) {
	w.mu.runners++
	act.add(action{start: w.recordLocked(ref).run})
}

// do performs what was collected, with no lock held.
func (w *Workers) do(act *actions) {
	for i := range act.count {
		w.perform(&act.first[i])
	}
	for i := range act.more {
		w.perform(&act.more[i])
	}
}

func (w *Workers) perform(a *action) {
	switch {
	case a.start != nil:
		w.turn.Go(a.start)
	case a.cancel != nil:
		a.cancel.Cancel(context.Canceled)
	case a.resolve != nil:
		a.resolve.resolve(a.err)
	case a.timer:
		w.wake.Signal()
	case a.tell.Op == lifecycle.OpPhase:
		w.config.Hooks.Phase(a.tell.UID, a.tell.Incarnation, a.tell.Phase)
	case a.tell.Op == lifecycle.OpForget:
		w.config.Hooks.Forgotten(a.tell.UID)
	}
}
