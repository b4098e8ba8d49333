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

// job is one call of the syncer with all its arguments. Workers reuses jobs to save allocations.
// The context is new for each job, because the syncer may keep it.
type job struct {
	lifecycle.Work
	ctx            *syncContext
	pod            *v1.Pod
	mirrorPod      *v1.Pod
	runningPod     *runtime.Pod
	statusFunc     PodStatusFunc
	minMark        uint64
	updateTime     time.Time
	status         *runtime.PodStatus // the status that the syncer is given
	lastCallFailed bool               // the pod's previous call failed
	syncerCalled   bool               // the syncer was called
	step           atomic.Uint32      // a Step; Outlook reads it concurrently

	retryTimes retryTimes // used by finishJob
	actions    actions    // used by finishJob
}

// runWorker runs the jobs of one pod, one after the other, until none is due. The lifecycle table ensures that
// a pod never has two workers.
func (w *Workers) runWorker(ref lifecycle.Ref) {
	for {
		j, ok := w.startNextJobOrExit(ref)
		if !ok {
			return
		}
		if more := w.finishJob(j, w.runJob(j)); !more {
			return
		}
	}
}

// startNextJobOrExit returns the pod's next job and true. If there is no job, it returns false and decrements
// the number of workers. The last worker also wakes the shutdown.
func (w *Workers) startNextJobOrExit(ref lifecycle.Ref) (next *job, started bool) {
	ctx := &syncContext{executor: w.executor}
	ctx.Init(w.root)
	w.mu.Lock()
	todo, ok := w.mu.table.StartPodSync(ref)
	if ok {
		j := w.newRunningJobLocked(ctx, &todo)
		w.mu.Unlock()
		return j, true
	}
	last := w.countWorkerExitLocked()
	w.mu.Unlock()
	ctx.Cancel(context.Canceled)
	if last {
		w.idle.Signal()
	}
	return nil, false
}

// newRunningJobLocked returns a job for work of the lifecycle table and stores it as the running job of the
// pod. A resync without a mirror pod gets the last known one (B-079). It clears the record's updateTime,
// because this job syncs the updates.
func (w *Workers) newRunningJobLocked(ctx *syncContext, todo *lifecycle.Work) *job {
	j := w.jobs.Get().(*job)
	r := w.getOrInitRecordLocked(todo.Ref)
	j.Work, j.ctx = *todo, ctx
	j.pod, j.mirrorPod, j.runningPod, j.minMark, j.updateTime = r.pod, r.mirrorPod, r.runningPod, r.observedMark, r.updateTime
	if j.mirrorPod == nil && todo.Type == SyncPodSync {
		j.mirrorPod = r.lastMirrorPod
	}
	if todo.PodStatusFunc != 0 {
		j.statusFunc = r.statusFunc
	}
	ctx.incarnation = todo.Incarnation
	ctx.slot.slots = w.slotsFor(todo.Kind)
	j.lastCallFailed = r.failedCallStatus != nil
	r.running = j
	r.updateTime = time.Time{}
	return j
}

// countWorkerExitLocked decrements the number of worker goroutines. It returns true if the Workers are stopped
// and no worker is left.
func (w *Workers) countWorkerExitLocked() (lastAfterStop bool) {
	w.mu.workers--
	return w.mu.workers == 0 && w.mu.stage == stopped
}

// slotsFor returns the slots (the limit of concurrent calls) for a method of the syncer: SyncPod has its own,
// and the other three methods share theirs.
func (w *Workers) slotsFor(kind lifecycle.Kind) *slots {
	if kind == lifecycle.SyncPod {
		return w.syncs
	}
	return w.terminations
}

// callOutcome is the result of a call, with the times of its retry.
type callOutcome struct {
	result       lifecycle.Result
	retryAt      time.Time // for FailedRetryAt; for FailedRuntimeUnavailable it may be zero
	exactRetryAt time.Time // for FailedRetryAt: the retry is not delayed by jitter beyond this time; zero: none
}

// runJob runs one call of the syncer for a pod. It calls Hooks.Syncing (for SyncPod and SyncTerminatingPod
// only), waits for a fresh runtime status and for a slot, calls the syncer and returns the result. If
// Config.Stability reports before the call that nothing is to do, it skips the slot and the call, and the
// result is Stable. The result is also Stable if Stability reports so after the call.
func (w *Workers) runJob(j *job) callOutcome {
	j.step.Store(uint32(AwaitingStatus))
	if w.config.Hooks.Syncing != nil && (j.Kind == lifecycle.SyncPod || j.Kind == lifecycle.SyncTerminatingPod) {
		w.config.Hooks.Syncing(j.pod, j.Incarnation)
	}
	status, err := w.waitForFreshStatus(j)
	j.status = status
	if err == nil && w.isSyncUnneededByStability(j, 0) {
		return callOutcome{result: lifecycle.Stable}
	}
	if err == nil {
		j.step.Store(uint32(AwaitingSlot))
		err = j.ctx.slot.acquireInitial(j.ctx)
	}
	if err != nil {
		return classifyResult(j, false, err)
	}
	terminal, err := w.callSyncerUnlessCancelled(j, status)
	j.ctx.slot.releaseForGood()
	o := classifyResult(j, terminal, err)
	if w.isSyncUnneededByStability(j, o.result) {
		o.result = lifecycle.Stable
	}
	return o
}

// waitForFreshStatus waits for a runtime status that was observed after the pod's last call. It returns nil if
// the job needs no status. After a failed call it first requests a relist, if the cache can relist, and waits
// for a status that is newer than now. If the cache returns an error, a termination gets the last cached status
// (B-083).
func (w *Workers) waitForFreshStatus(j *job) (*runtime.PodStatus, error) {
	if !j.NeedStatus {
		return nil, nil
	}
	if j.lastCallFailed && w.relister != nil {
		// The retry must use the present state and not the state right after the failure.
		w.relister.RequestRelist(j.UID)
		j.minMark = max(j.minMark, w.config.Cache.Mark())
	}
	status, err := w.config.Cache.NewerThan(j.ctx, j.UID, j.minMark)
	if err != nil {
		return w.reportCacheErrorAndGetStatus(j, fmt.Errorf("podworkers: determine status: %w", err))
	}
	return statusOrEmpty(status, j), nil
}

// reportCacheErrorAndGetStatus records a FailedSync event and logs an error of the status cache. For
// SyncTerminatingPod it returns the last cached status: a broken runtime must block starts but not kills. For
// other calls it returns err. If the job was interrupted, it only returns err (B-085).
func (w *Workers) reportCacheErrorAndGetStatus(j *job, err error) (*runtime.PodStatus, error) {
	if j.isInterrupted(err) {
		return nil, err
	}
	w.config.Recorder.Eventf(j.pod, v1.EventTypeWarning, "FailedSync", "error determining status: %v", errors.Unwrap(err))
	w.config.Log.Warn("cannot determine the status of a pod", "pod", j.podName(), "uid", j.UID, "call", j.Kind.String(), "err", err)
	if j.Kind == lifecycle.SyncTerminatingPod {
		status, _ := w.config.Cache.Get(j.UID)
		return statusOrEmpty(status, j), nil
	}
	return nil, err
}

// statusOrEmpty returns the status. If it is nil, it returns an empty status with the UID of the job's pod.
func statusOrEmpty(status *runtime.PodStatus, j *job) *runtime.PodStatus {
	if status == nil {
		return &runtime.PodStatus{UID: j.UID}
	}
	return status
}

// callSyncerUnlessCancelled calls the syncer, logs its error and calls Hooks.Synced if that hook is set. If the
// job was cancelled while it waited, it only returns an error. Before it calls the syncer, it lets the executor
// run other goroutines, so that other pods run in a simulation.
func (w *Workers) callSyncerUnlessCancelled(j *job, status *runtime.PodStatus) (terminal bool, err error) {
	err = w.executor.Sleep(j.ctx, 0)
	if err == nil {
		err = j.ctx.Err() // The job may have been cancelled while other pods ran.
	}
	if err != nil {
		return false, err
	}
	j.syncerCalled = true
	j.step.Store(uint32(Working))
	var begun time.Time
	if w.config.Hooks.Synced != nil {
		begun = w.executor.Now()
	}
	terminal, err = w.callSyncer(j, status)
	if err != nil {
		w.logSyncError(j, err)
	}
	if w.config.Hooks.Synced != nil {
		w.callSyncedHook(j, begun, err)
	}
	return terminal, err
}

// callSyncer calls the syncer's method for the job. terminal is the result of SyncPod, and false for other
// methods. If the syncer panics, it returns the panic as an error (I50).
func (w *Workers) callSyncer(j *job, status *runtime.PodStatus) (terminal bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			terminal, err = false, w.guard.HandlePanic("PodSyncer."+j.Kind.String(), v)
		} else if err != nil {
			err = w.guard.CheckErrorText("PodSyncer."+j.Kind.String(), err)
		}
	}()
	switch j.Kind {
	case lifecycle.SyncPod:
		return w.config.Syncer.SyncPod(j.ctx, j.Type, j.pod, j.mirrorPod, status)
	case lifecycle.SyncTerminatingPod:
		return false, w.config.Syncer.SyncTerminatingPod(j.ctx, j.pod, status, j.Grace.ToAPI(), j.statusFunc)
	case lifecycle.SyncTerminatingRuntimePod:
		return false, w.config.Syncer.SyncTerminatingRuntimePod(j.ctx, j.runningPod)
	}
	return false, w.config.Syncer.SyncTerminatedPod(j.ctx, j.pod, status)
}

// logSyncError logs the error of a syncer's call, unless the job was interrupted. The level is debug for an
// error that only requests a later retry. For any other error the level is error.
func (w *Workers) logSyncError(j *job, err error) {
	if j.isInterrupted(err) {
		return
	}
	level := slog.LevelError
	if isRetryTimeOnly(err) {
		level = slog.LevelDebug
	}
	w.config.Log.Log(j.ctx, level, "a sync failed", "pod", j.podName(), "uid", j.UID, "call", j.Kind.String(), "err", err)
}

// callSyncedHook calls Hooks.Synced with the duration of the call, its error, and the latency since the oldest
// update that the job syncs. A job without an update has no latency.
func (w *Workers) callSyncedHook(j *job, begun time.Time, err error) {
	now := w.executor.Now()
	s := Synced{UID: j.UID, Incarnation: j.Incarnation, Kind: j.Kind, Type: j.Type, Took: now.Sub(begun), Err: err}
	if !j.updateTime.IsZero() {
		s.Latency = now.Sub(j.updateTime)
	}
	w.config.Hooks.Synced(s)
}

// isInterrupted reports whether the job's context is done or err says that the simulated process has crashed.
func (j *job) isInterrupted(err error) bool {
	return j.ctx.Err() != nil || errors.Is(err, executor.ErrCrashed)
}

// classifyResult converts the error of a syncer's call into a result of the lifecycle table. Without an error
// the result is Completed if terminal is true, and Succeeded if not. If the error contains a retry time that
// decides about the next call, the outcome has that time.
func classifyResult(j *job, terminal bool, err error) callOutcome {
	switch at, asked := earliestRequestedRetry(err); {
	case err == nil && terminal:
		return callOutcome{result: lifecycle.Completed}
	case err == nil:
		return callOutcome{result: lifecycle.Succeeded}
	case errors.Is(err, context.Canceled) || j.ctx.Err() != nil && errors.Is(err, j.ctx.Err()):
		return callOutcome{result: lifecycle.Cancelled}
	case errors.Is(err, runtime.ErrNetworkNotReady) || isExistsErrorUnlessMarked(err):
		return callOutcome{result: lifecycle.FailedTransient}
	case errors.Is(err, runtime.ErrNotReady) && !isEveryBranchTerminal(err):
		return callOutcome{result: lifecycle.FailedRuntimeUnavailable, retryAt: at}
	case asked:
		return callOutcome{result: lifecycle.FailedRetryAt, retryAt: at, exactRetryAt: earliestExactRetryTime(err)}
	case isEveryBranchTerminal(err):
		return callOutcome{result: lifecycle.FailedFinally}
	}
	return callOutcome{result: lifecycle.Failed}
}

// finishJob passes the result of a job to the lifecycle table, performs the effects, and frees the job. A
// requested retry time that is not in the future makes the result a transient failure. It requests a relist if
// the runtime is unavailable. It returns true if the same worker has another job. If not, it decrements the
// number of workers, and the last one wakes the shutdown.
func (w *Workers) finishJob(j *job, outcome callOutcome) (continues bool) {
	j.ctx.Cancel(context.Canceled) // This also stops goroutines that the call has left.
	j.retryTimes = retryTimes{now: w.executor.Now(), retryAt: outcome.retryAt, exactRetryAt: outcome.exactRetryAt, random: w.config.Jitter()}
	if (outcome.result == lifecycle.FailedRetryAt || !outcome.retryAt.IsZero()) && !outcome.retryAt.After(j.retryTimes.now) {
		outcome.result = lifecycle.FailedTransient // An immediate retry could repeat for ever.
	}
	if j.syncerCalled || outcome.result == lifecycle.Stable {
		j.minMark = max(j.minMark, w.config.Cache.Mark()) // If Mark panics the previous mark stays.
	}
	w.mu.Lock()
	if w.mu.table.Done(j.Ref, j.Incarnation, outcome.result, &w.mu.effects) {
		r := w.getOrInitRecordLocked(j.Ref)
		r.running = nil
		r.observedMark = j.minMark
		r.storeFailedStatusAndCountTransient(j, outcome.result)
	}
	continues = w.removeWakeEffectLocked(j.Ref)
	w.applyEffectsLocked(&j.actions, &j.retryTimes)
	last := !continues && w.countWorkerExitLocked()
	w.mu.Unlock()
	w.performActions(&j.actions)
	if outcome.result == lifecycle.FailedRuntimeUnavailable && w.relister != nil {
		w.relister.RequestRelist(j.UID)
	}
	*j = job{}
	w.jobs.Put(j)
	if last {
		w.idle.Signal()
	}
	return continues
}

// removeWakeEffectLocked removes OpWake for the pod from the effects that the lifecycle table has requested,
// because the pod's worker still runs and can continue by itself. It returns false if there was no such effect.
func (w *Workers) removeWakeEffectLocked(ref lifecycle.Ref) (found bool) {
	for i := range w.mu.effects {
		if e := &w.mu.effects[i]; e.Op == lifecycle.OpWake && e.Ref == ref {
			w.mu.effects = append(w.mu.effects[:i], w.mu.effects[i+1:]...)
			return true
		}
	}
	return false
}

// podName returns namespace/name of the pod for logs, from the pod object or, if there is none, from the
// running pod.
func (j *job) podName() string {
	if j.pod != nil {
		return j.pod.Namespace + "/" + j.pod.Name
	}
	return j.runningPod.Namespace + "/" + j.runningPod.Name
}
