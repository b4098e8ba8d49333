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

// addAction appends an action with the given op and returns it, so that the caller can set its other fields.
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

// applyEffectsLocked applies the effects that the lifecycle table has requested, and then empties their list.
// It changes the pod records and the work queue. It adds to act what must be done without the lock. times may
// be nil if no effect is a retry.
func (w *Workers) applyEffectsLocked(act *actions, times *retryTimes) {
	for i := range w.mu.effects {
		switch e := &w.mu.effects[i]; e.Op {
		case lifecycle.OpRequeue:
			w.enqueueRetryLocked(act, e, times)
		case lifecycle.OpUnqueue:
			w.mu.queue.Remove(e.UID)
			act.signalTimer = act.signalTimer || w.mu.queue.err != nil
		default:
			w.applyNonQueueEffectLocked(act, e)
		}
	}
	if cap(w.mu.effects) > maxReusedEffects {
		w.mu.effects = nil
	}
	w.mu.effects = w.mu.effects[:0]
}

// applyNonQueueEffectLocked applies one effect of the lifecycle table that does not change the work queue. It
// changes the stored state of the pod, collects in act a call that must be made without the lock, or does both.
func (w *Workers) applyNonQueueEffectLocked(act *actions, e *lifecycle.Effect) {
	switch e.Op {
	case lifecycle.OpWake:
		w.startWorkerNowOrAtRunLocked(act, w.getOrInitRecordLocked(e.Ref).run)
	case lifecycle.OpCancel:
		act.addAction(e.Op).cancel = w.getOrInitRecordLocked(e.Ref).running.ctx
	case lifecycle.OpResolve:
		w.addKillResolutionLocked(act, e)
	case lifecycle.OpPhase:
		w.addPhaseHookAndClearFinishedLocked(act, e)
	case lifecycle.OpPromote:
		w.getOrInitRecordLocked(e.Ref).startNextIncarnation()
	case lifecycle.OpDiscard:
		w.getOrInitRecordLocked(e.Ref).next = nil
	case lifecycle.OpForget:
		w.forgetPodLocked(act, e)
	case lifecycle.OpCompare:
		a := act.addAction(e.Op)
		a.ref, a.uid, a.incarnation = e.Ref, e.UID, e.Incarnation
	}
}

// startWorkerNowOrAtRunLocked collects in act the start of a pod's worker goroutine and counts the worker.
// Before Run it only stores the worker, and Run starts it. After shutdown it does nothing. If the pod is
// forgotten before Run, the worker finds no work and exits.
func (w *Workers) startWorkerNowOrAtRunLocked(act *actions, run func()) {
	switch w.mu.stage {
	case created:
		w.mu.startAtRun = append(w.mu.startAtRun, run)
	case serving:
		w.mu.workers++
		act.addAction(lifecycle.OpWake).run = run
	}
}

// enqueueRetryLocked puts the pod's next sync into the work queue, after the delay for the effect's backoff
// class. Transient failures in a row make the delay longer. If the error names an exact retry time, the delay
// ends no later than that time. It wakes Run if the sync is due before Run would wake by itself, or if the
// queue has failed.
func (w *Workers) enqueueRetryLocked(act *actions, e *lifecycle.Effect, times *retryTimes) {
	retry := w.config.Retry.AfterTransients(w.getOrInitRecordLocked(e.Ref).transientFailures - 1)
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

// addPhaseHookAndClearFinishedLocked adds to act the call of Hooks.Phase, if that hook is set; the call follows
// without the lock. For a pod that enters the phase Finished it also clears the pod objects in the record.
func (w *Workers) addPhaseHookAndClearFinishedLocked(act *actions, e *lifecycle.Effect) {
	if e.Phase == lifecycle.Finished {
		r := w.getOrInitRecordLocked(e.Ref)
		r.content = content{}
	}
	if w.config.Hooks.Phase != nil {
		a := act.addAction(e.Op)
		a.uid, a.incarnation, a.phase = e.UID, e.Incarnation, e.Phase
	}
}

// addKillResolutionLocked removes the Completion of a kill from the pending kills. It adds to act the call that
// resolves the Completion without the lock.
func (w *Workers) addKillResolutionLocked(act *actions, e *lifecycle.Effect) {
	a := act.addAction(e.Op)
	a.completion, a.resolution = w.mu.kills[e.Ticket], e.Resolution
	delete(w.mu.kills, e.Ticket)
}

// forgetPodLocked clears the record of a pod, and collects in act the call of Hooks.Forgotten if that hook is
// set. w.mu.mark keeps the highest observation number of all forgotten pods: if a UID is used again, an older
// observation must not count as fresh.
func (w *Workers) forgetPodLocked(act *actions, e *lifecycle.Effect) {
	r := w.mu.records.recordAtOrAllocate(e.Ref)
	w.mu.mark = max(w.mu.mark, r.observedMark)
	*r = record{}
	if w.config.Hooks.Forgotten != nil {
		act.addAction(e.Op).uid = e.UID
	}
}

// completionError returns the error with which a Completion is resolved. It returns nil if no container of the
// pod runs. It returns ErrPodDesired if the kill was refused because the pod is desired. In all other cases it
// returns ErrStopped.
func completionError(resolution lifecycle.Resolution) error {
	switch {
	case resolution.IsStopped():
		return nil
	case resolution == lifecycle.PodDesired:
		return ErrPodDesired
	}
	return ErrStopped
}

// performActions performs in order the actions in act, which were added while the lock was held. It then wakes
// Run if act.signalTimer is set. The caller must not hold the lock.
func (w *Workers) performActions(act *actions) {
	w.performSideEffectUnlocked(&act.first)
	for i := range act.more {
		w.performSideEffectUnlocked(&act.more[i])
	}
	if act.signalTimer {
		w.wake.Signal()
	}
}

// performSideEffectUnlocked performs one side effect that the state table requested while the lock was held. It
// starts a worker, cancels a running call, resolves a Completion, calls a hook, or ends a backoff if the
// runtime shows a change. It does nothing for the zero action.
func (w *Workers) performSideEffectUnlocked(a *action) {
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
		w.endBackoffIfRuntimeStatusChanged(a.uid, a.ref, a.incarnation)
	}
}
