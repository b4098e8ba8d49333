package podworkers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
)

// job is one piece of work with all that is needed to do it. Workers uses jobs again to save
// allocations. The context is new for each job: the syncer may keep it.
type job struct {
	lifecycle.Work
	ctx        *syncContext
	pod        *v1.Pod
	mirror     *v1.Pod
	runningPod *runtime.Pod
	statusFunc PodStatusFunc
	mark       uint64
	since      time.Time
	status     *runtime.PodStatus // what the syncer is shown
	again      bool               // the call before has failed
	called     bool               // the syncer was called
	step       atomic.Uint32      // a Step: others ask

	verdict verdict // of done
	act     actions // of done
}

// work is a pod's runner. It starts when there is work and ends when there is
// none; the table sees to it that a record never has two.
func (w *Workers) work(ref lifecycle.Ref) {
	for {
		j, ok := w.take(ref)
		if !ok {
			return
		}
		if more := w.done(j, w.sync(j)); !more {
			return
		}
	}
}

// take fetches the pod's work. Without any the runner has ended. The context
// is ready before the work is: from then on it can be cancelled.
func (w *Workers) take(ref lifecycle.Ref) (*job, bool) {
	ctx := &syncContext{seam: w.executor}
	ctx.Init(w.root)
	w.mu.Lock()
	todo, ok := w.mu.table.StartPodSync(ref)
	if ok {
		j := w.jobLocked(ctx, &todo)
		w.mu.Unlock()
		return j, true
	}
	last := w.leaveLocked()
	w.mu.Unlock()
	ctx.Cancel(context.Canceled)
	if last {
		w.idle.Signal()
	}
	return nil, false
}

// jobLocked puts a job together. A replay, which follows no update, has the
// mirror that was last seen (B-079).
func (w *Workers) jobLocked(ctx *syncContext, todo *lifecycle.Work) *job {
	j := w.jobs.Get().(*job)
	r := w.recordLocked(todo.Ref)
	j.Work, j.ctx = *todo, ctx
	j.pod, j.mirror, j.runningPod, j.mark, j.since = r.pod, r.mirror, r.runningPod, r.mark, r.since
	if j.mirror == nil && todo.Type == SyncPodSync {
		j.mirror = r.lastMirror
	}
	if todo.PodStatusFunc != 0 {
		j.statusFunc = r.statusFunc
	}
	ctx.incarnation = todo.Incarnation
	ctx.slot.slots = w.slotsOf(todo.Kind)
	j.again = r.seen != nil
	r.running = j
	r.since = time.Time{}
	return j
}

// leaveLocked ends a runner and tells whether it was the last one while the
// workers stop.
func (w *Workers) leaveLocked() (last bool) {
	w.mu.runners--
	return w.mu.runners == 0 && w.mu.stage == stopped
}

func (w *Workers) slotsOf(kind lifecycle.Kind) *slots {
	if kind == lifecycle.SyncPod {
		return w.syncs
	}
	return w.terminations
}

// outcome is how a call ended.
type outcome struct {
	result lifecycle.Result
	retry  time.Time // with FailedAsked; with FailedRuntimeUnavailable zero if none was asked for
	exact  time.Time // with FailedAsked: an attempt at this time is not delayed by chance; zero: none
}

// sync waits for a fresh status, then for a slot, then calls the syncer.
func (w *Workers) sync(j *job) outcome {
	j.step.Store(uint32(AwaitingStatus))
	if w.config.Hooks.Syncing != nil && (j.Kind == lifecycle.SyncPod || j.Kind == lifecycle.SyncTerminatingPod) {
		w.config.Hooks.Syncing(j.pod, j.Incarnation)
	}
	status, err := w.observe(j)
	j.status = status
	if err == nil && w.isStable(j, 0) {
		return outcome{result: lifecycle.Stable}
	}
	if err == nil {
		j.step.Store(uint32(AwaitingSlot))
		err = j.ctx.slot.begin(j.ctx)
	}
	if err != nil {
		return judge(j, false, err)
	}
	terminal, err := w.attempt(j, status)
	j.ctx.slot.end()
	o := judge(j, terminal, err)
	if w.isStable(j, o.result) {
		o.result = lifecycle.Stable
	}
	return o
}

// observe waits for an observation begun after the pod's last call (B-083).
func (w *Workers) observe(j *job) (*runtime.PodStatus, error) {
	if !j.NeedStatus {
		return nil, nil
	}
	if j.again && w.look != nil {
		// It is tried again on what is there now, and not on what was seen right after
		// the failure.
		w.look.RequestRelist(j.UID)
		j.mark = max(j.mark, w.config.Cache.Mark())
	}
	status, err := w.config.Cache.NewerThan(j.ctx, j.UID, j.mark)
	if err != nil {
		return w.blind(j, fmt.Errorf("podworkers: determine status: %w", err))
	}
	return orEmpty(status, j), nil
}

// blind decides what to do without a fresh status. The pod is not synced
// (B-085). But a kill is tried all the same with what was last seen: a sick
// runtime stops starts and not kills, and SyncTerminatingPod looks for itself
// before it claims success.
func (w *Workers) blind(j *job, err error) (*runtime.PodStatus, error) {
	if j.interrupted(err) {
		return nil, err
	}
	w.config.Recorder.Eventf(j.pod, v1.EventTypeWarning, "FailedSync", "error determining status: %v", errors.Unwrap(err))
	w.config.Log.Warn("what runs of a pod is not known", "pod", j.name(), "uid", j.UID, "call", j.Kind.String(), "err", err)
	if j.Kind == lifecycle.SyncTerminatingPod {
		status, _ := w.config.Cache.Get(j.UID)
		return orEmpty(status, j), nil
	}
	return nil, err
}

// orEmpty is what a syncer is shown of a pod of which nothing is known.
func orEmpty(status *runtime.PodStatus, j *job) *runtime.PodStatus {
	if status == nil {
		return &runtime.PodStatus{UID: j.UID}
	}
	return status
}

// attempt calls the syncer, unless the pod has been told something else while
// it waited. The look is a wait too, so that in a simulation others have their turn
// just before each call, and nobody calls after a crash.
func (w *Workers) attempt(j *job, status *runtime.PodStatus) (terminal bool, err error) {
	err = w.executor.Sleep(j.ctx, 0)
	if err == nil {
		err = j.ctx.Err() // It may have ended in others' turn.
	}
	if err != nil {
		return false, err
	}
	j.called = true
	j.step.Store(uint32(Working))
	var begun time.Time
	if w.config.Hooks.Synced != nil {
		begun = w.executor.Now()
	}
	terminal, err = w.call(j, status)
	if err != nil {
		w.complain(j, err)
	}
	if w.config.Hooks.Synced != nil {
		w.report(j, begun, err)
	}
	return terminal, err
}

// call calls the syncer. A panic there is an error of that pod alone (I50).
func (w *Workers) call(j *job, status *runtime.PodStatus) (terminal bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			terminal, err = false, w.guard.HandlePanic("PodSyncer."+j.Kind.String(), v)
		} else if err != nil {
			err = w.guard.CheckErrorText("PodSyncer."+j.Kind.String(), err)
		}
	}()
	switch j.Kind {
	case lifecycle.SyncPod:
		return w.config.Syncer.SyncPod(j.ctx, j.Type, j.pod, j.mirror, status)
	case lifecycle.SyncTerminatingPod:
		return false, w.config.Syncer.SyncTerminatingPod(j.ctx, j.pod, status, seconds(j.Grace), j.statusFunc)
	case lifecycle.SyncTerminatingRuntimePod:
		return false, w.config.Syncer.SyncTerminatingRuntimePod(j.ctx, j.runningPod)
	}
	return false, w.config.Syncer.SyncTerminatedPod(j.ctx, j.pod, status)
}

// complain logs the error of a call, once. That a pod has to wait, as for the
// end of a backoff, is nothing to worry about.
func (w *Workers) complain(j *job, err error) {
	if j.interrupted(err) {
		return
	}
	level := slog.LevelError
	if isWait(err) {
		level = slog.LevelDebug
	}
	w.config.Log.Log(j.ctx, level, "a sync failed", "pod", j.name(), "uid", j.UID, "call", j.Kind.String(), "err", err)
}

// report tells the hook of a call.
func (w *Workers) report(j *job, begun time.Time, err error) {
	now := w.executor.Now()
	s := Synced{UID: j.UID, Incarnation: j.Incarnation, Kind: j.Kind, Type: j.Type, Took: now.Sub(begun), Err: err}
	if !j.since.IsZero() {
		s.Latency = now.Sub(j.since)
	}
	w.config.Hooks.Synced(s)
}

// interrupted is true if an error only says that the call was to end.
func (j *job) interrupted(err error) bool {
	return j.ctx.Err() != nil || errors.Is(err, executor.ErrCrashed)
}

// judge turns an error into one of the table's results.
func judge(j *job, terminal bool, err error) outcome {
	switch at, asked := retryAt(err); {
	case err == nil && terminal:
		return outcome{result: lifecycle.Completed}
	case err == nil:
		return outcome{result: lifecycle.Succeeded}
	case errors.Is(err, context.Canceled) || j.ctx.Err() != nil && errors.Is(err, j.ctx.Err()):
		return outcome{result: lifecycle.Cancelled}
	case errors.Is(err, runtime.ErrNetworkNotReady) || passes(err):
		return outcome{result: lifecycle.FailedTransient}
	case errors.Is(err, runtime.ErrNotReady) && !isTerminal(err):
		return outcome{result: lifecycle.FailedRuntimeUnavailable, retry: at}
	case asked:
		return outcome{result: lifecycle.FailedAsked, retry: at, exact: exactRetryAt(err)}
	case isTerminal(err):
		return outcome{result: lifecycle.FailedFinally}
	}
	return outcome{result: lifecycle.Failed}
}

// done hands the result back and tells whether the same runner goes on.
func (w *Workers) done(j *job, o outcome) (more bool) {
	j.ctx.Cancel(context.Canceled) // Whatever the call left behind ends with it.
	j.verdict = verdict{now: w.executor.Now(), at: o.retry, exact: o.exact, random: w.config.Jitter()}
	if (o.result == lifecycle.FailedAsked || !o.retry.IsZero()) && !o.retry.After(j.verdict.now) {
		o.result = lifecycle.FailedTransient // At once, for ever, would spin.
	}
	if j.called || o.result == lifecycle.Stable {
		j.mark = max(j.mark, w.config.Cache.Mark()) // After a panic of it, that of the call before.
	}
	w.mu.Lock()
	if w.mu.table.Done(j.Ref, j.Incarnation, o.result, &w.mu.effects) {
		r := w.recordLocked(j.Ref)
		r.running = nil
		r.mark = j.mark
		r.ended(j, o.result)
	}
	more = w.againLocked(j.Ref)
	w.applyLocked(&j.act, &j.verdict)
	last := !more && w.leaveLocked()
	w.mu.Unlock()
	w.do(&j.act)
	if o.result == lifecycle.FailedRuntimeUnavailable && w.look != nil {
		w.look.RequestRelist(j.UID)
	}
	*j = job{}
	w.jobs.Put(j)
	if last {
		w.idle.Signal()
	}
	return more
}

// againLocked takes the wake-up of the runner's own pod out of the effects: it
// is awake.
func (w *Workers) againLocked(ref lifecycle.Ref) bool {
	for i := range w.mu.effects {
		if e := &w.mu.effects[i]; e.Op == lifecycle.OpWake && e.Ref == ref {
			w.mu.effects = append(w.mu.effects[:i], w.mu.effects[i+1:]...)
			return true
		}
	}
	return false
}

// name is the pod's namespace/name, for people.
func (j *job) name() string {
	if j.pod != nil {
		return j.pod.Namespace + "/" + j.pod.Name
	}
	return j.runningPod.Namespace + "/" + j.runningPod.Name
}

func seconds(g lifecycle.Grace) *int64 {
	if !g.Set {
		return nil
	}
	return &g.Seconds
}
