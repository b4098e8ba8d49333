package podworkers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// actions are what must be done after the lock is released: they call code of others, or wake
// goroutines. There is seldom more than one, so the first is stored in place and needs no
// allocation.
type actions struct {
	signalTimer bool // the earliest retry became earlier, or the queue failed
	first       action
	more        []action
}

// action is the part of an effect that must run without the lock.
type action struct {
	op          lifecycle.Op
	phase       lifecycle.Phase      // OpPhase
	resolution  lifecycle.Resolution // OpResolve
	run         func()               // OpWake
	cancel      *syncContext         // OpCancel
	completion  *Completion          // OpResolve
	uid         types.UID            // OpPhase, OpForget, OpCompare
	incarnation uint64               // OpPhase, OpCompare
	ref         lifecycle.Ref        // OpCompare
}

// addAction appends an action with an op and returns it. The caller fills in the other fields.
func (a *actions) addAction(op lifecycle.Op) *action {
	if a.first.op == 0 {
		a.first.op = op
		return &a.first
	}
	a.more = append(a.more, action{op: op})
	return &a.more[len(a.more)-1]
}

// retryTimes are the inputs for the delay of a retry after a call.
type retryTimes struct {
	now, retryAt time.Time
	exactRetryAt time.Time // the latest time of the retry; zero: none, jitter decides
	random       float64
}

// maxReusedEffects bounds the buffer that is kept for reuse. A housekeeping that terminates a
// hundred thousand pods must not keep its memory for ever.
const maxReusedEffects = 1024

// applyLocked applies the table's effects to the records and the queue, in order. It collects in
// act what must be done without the lock. times is nil if no retry can be among the effects.
func (w *Workers) applyLocked(act *actions, times *retryTimes) {
	for i := range w.mu.effects {
		switch e := &w.mu.effects[i]; e.Op {
		case lifecycle.OpRequeue:
			w.enqueueRetryLocked(act, e, times)
		case lifecycle.OpUnqueue:
			w.mu.queue.Remove(e.UID)
			act.signalTimer = act.signalTimer || w.mu.queue.err != nil
		default:
			w.applyEffectLocked(act, e)
		}
	}
	if cap(w.mu.effects) > maxReusedEffects {
		w.mu.effects = nil
	}
	w.mu.effects = w.mu.effects[:0]
}

// applyEffectLocked applies one effect that is not about the queue.
func (w *Workers) applyEffectLocked(act *actions, e *lifecycle.Effect) {
	switch e.Op {
	case lifecycle.OpWake:
		w.startWorkerLocked(act, w.recordLocked(e.Ref).run)
	case lifecycle.OpCancel:
		act.addAction(e.Op).cancel = w.recordLocked(e.Ref).running.ctx
	case lifecycle.OpResolve:
		w.resolveKillLocked(act, e)
	case lifecycle.OpPhase:
		w.enterPhaseLocked(act, e)
	case lifecycle.OpPromote:
		w.recordLocked(e.Ref).startNextIncarnation()
	case lifecycle.OpDiscard:
		w.recordLocked(e.Ref).next = nil
	case lifecycle.OpForget:
		w.forgetPodLocked(act, e)
	case lifecycle.OpCompare:
		a := act.addAction(e.Op)
		a.ref, a.uid, a.incarnation = e.Ref, e.UID, e.Incarnation
	}
}

// startWorkerLocked starts the worker of a pod. Before Run it stores the worker until Run. The pod
// may be forgotten until then. That does no harm: a worker is bound to one version of the record
// and finds no work.
func (w *Workers) startWorkerLocked(act *actions, run func()) {
	switch w.mu.stage {
	case created:
		w.mu.startAtRun = append(w.mu.startAtRun, run)
	case serving:
		w.mu.workers++
		act.addAction(lifecycle.OpWake).run = run
	}
}

// enqueueRetryLocked enqueues the pod's next sync. It wakes Run only if that is earlier than the
// time until which Run sleeps.
func (w *Workers) enqueueRetryLocked(act *actions, e *lifecycle.Effect, times *retryTimes) {
	retry := w.config.Retry.AfterTransients(w.recordLocked(e.Ref).transientFailures - 1)
	delay := retry.Delay(e.Class, times.now, times.retryAt, times.random)
	if e.Class == backoff.RetryAt && !times.exactRetryAt.IsZero() {
		delay = min(delay, retry.Delay(e.Class, times.now, times.exactRetryAt, 0))
	}
	due := times.now.Add(delay)
	w.mu.queue.EnqueueAt(e.UID, due)
	if w.mu.queue.err != nil || w.mu.sleepsUntil.IsZero() || due.Before(w.mu.sleepsUntil) {
		w.mu.sleepsUntil = due
		act.signalTimer = true
	}
}

// enterPhaseLocked drops the content of a finished pod and adds the call of Hooks.Phase.
func (w *Workers) enterPhaseLocked(act *actions, e *lifecycle.Effect) {
	if e.Phase == lifecycle.Finished {
		r := w.recordLocked(e.Ref)
		r.content = content{}
	}
	if w.config.Hooks.Phase != nil {
		a := act.addAction(e.Op)
		a.uid, a.incarnation, a.phase = e.UID, e.Incarnation, e.Phase
	}
}

// resolveKillLocked adds the action that resolves the completion of a kill.
func (w *Workers) resolveKillLocked(act *actions, e *lifecycle.Effect) {
	a := act.addAction(e.Op)
	a.completion, a.resolution = w.mu.kills[e.Ticket], e.Resolution
	delete(w.mu.kills, e.Ticket)
}

// forgetPodLocked clears the record of a pod. If the UID is used again, an observation from before
// must not count as fresh. Therefore the highest mark of all forgotten pods is kept: one number, so
// that the memory does not grow with the number of UIDs.
func (w *Workers) forgetPodLocked(act *actions, e *lifecycle.Effect) {
	r := w.mu.records.at(e.Ref)
	w.mu.mark = max(w.mu.mark, r.observedMark)
	*r = record{}
	if w.config.Hooks.Forgotten != nil {
		act.addAction(e.Op).uid = e.UID
	}
}

// completionError returns the error with which a completion is resolved; nil if the pod's
// containers have stopped.
func completionError(resolution lifecycle.Resolution) error {
	switch {
	case resolution.IsStopped():
		return nil
	case resolution == lifecycle.PodDesired:
		return ErrPodDesired
	}
	return ErrStopped
}

// performActions performs the collected actions. The caller holds no lock.
func (w *Workers) performActions(act *actions) {
	w.performAction(&act.first)
	for i := range act.more {
		w.performAction(&act.more[i])
	}
	if act.signalTimer {
		w.wake.Signal()
	}
}

// performAction performs one action.
func (w *Workers) performAction(a *action) {
	switch a.op {
	case lifecycle.OpWake:
		w.goroutines.Go(a.run)
	case lifecycle.OpCancel:
		a.cancel.Cancel(context.Canceled)
	case lifecycle.OpResolve:
		a.completion.Resolve(completionError(a.resolution))
	case lifecycle.OpPhase:
		w.config.Hooks.Phase(a.uid, a.incarnation, a.phase)
	case lifecycle.OpForget:
		w.config.Hooks.Forgotten(a.uid)
	case lifecycle.OpCompare:
		w.endBackoffOnChange(a.uid, a.ref, a.incarnation)
	}
}
