package gc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// retryQueue is a queue of pods with a backoff for failures. It is the common part of Pods,
// Containers and Directories.
type retryQueue struct {
	once           runOnce
	executor       executor.Executor
	wake           executor.Event
	queue          *workqueue.Queue
	retry          backoff.Exponential
	log            *slog.Logger
	guard          *contain.Guard
	name           string        // name of an attempt in the report of a panic
	failureMessage string        // log message of a failed attempt
	delay          time.Duration // between enqueue and the attempt
	mu             struct {
		sync.Mutex
		pods map[types.UID]queuedPod // added and not finished
	}
}

// queuedPod is the state of a pod in the queue.
type queuedPod struct {
	waiting     bool // in the queue; otherwise an attempt is in progress
	dueLater    bool // it waits for a time of its own; enqueueUnlessWaiting makes it due earlier
	backoff     backoff.State
	lastFailure string
}

// attemptResult is the result of an attempt.
type attemptResult struct {
	nextAttempt time.Time // when there is more to do; zero: never
	err         error
}

// retryConfig configures a retryQueue.
type retryConfig struct {
	clock                clock.Clock
	retry, maxRetry      time.Duration
	log                  **slog.Logger // replaced by a logger that recovers panics
	panicked             func(call string, err error)
	name, failureMessage string
	delay                time.Duration
}

// newRetryQueue creates an empty queue of pods with a backoff after failures.
func newRetryQueue(c retryConfig) *retryQueue {
	t := &retryQueue{
		executor: executor.Over(c.clock), retry: backoff.Exponential{Initial: c.retry, Max: c.maxRetry, Reset: retryResetAfter},
		guard: newGuard(c.clock, c.log, c.panicked), log: *c.log, name: c.name, failureMessage: c.failureMessage, delay: c.delay,
	}
	t.wake = t.executor.NewEvent()
	t.queue = workqueue.New(workqueue.Config{Clock: c.clock, Notify: t.wake.Signal})
	t.mu.pods = make(map[types.UID]queuedPod)
	return t
}

// enqueueUnlessWaiting adds pods to the queue, to be due after the queue's delay, and never blocks. A pod that
// already waits, for example for its backoff after a failure, keeps its time.
func (t *retryQueue) enqueueUnlessWaiting(uids []types.UID) {
	for _, uid := range uids {
		if t.markWaitingUnlessQueued(uid) {
			t.queue.Enqueue(uid, t.delay)
		}
	}
}

// markWaitingUnlessQueued records that a pod waits in the queue. It returns false, and changes nothing, if the
// pod already waits there, unless it waits only for the later time that a successful attempt requested. A pod
// whose attempt is in progress does not count as waiting, because that attempt may have read an older state.
func (t *retryQueue) markWaitingUnlessQueued(uid types.UID) (marked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.mu.pods[uid]
	if l.waiting && !l.dueLater {
		return false
	}
	l.waiting, l.dueLater = true, false
	t.mu.pods[uid] = l
	return true
}

// runOnce detects a second call of Run.
type runOnce struct{ ran atomic.Bool }

// markRunOrRefuseSecond returns nil for the first call. It returns ErrSecondRun for each later call.
func (o *runOnce) markRunOrRefuseSecond() error {
	if o.ran.Swap(true) {
		return fmt.Errorf("gc: %w", runtime.ErrSecondRun)
	}
	return nil
}

// runStepWhenDue calls step at once, and again whenever a pod is due or added, until ctx ends. A second call of
// runStepWhenDue returns ErrSecondRun.
func (t *retryQueue) runStepWhenDue(ctx context.Context, step func(context.Context)) error {
	if err := t.once.markRunOrRefuseSecond(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		step(ctx)
		if t.waitForNextDue(ctx) != nil {
			break
		}
	}
	return nil
}

// waitForNextDue waits until the next pod is due or a pod is added. It returns an error if ctx ends.
func (t *retryQueue) waitForNextDue(ctx context.Context) error {
	next, ok := t.queue.Next()
	if !ok {
		return t.wake.Wait(ctx)
	}
	_, err := t.wake.WaitUntil(ctx, next)
	return err
}

// attemptDuePods removes every pod that is due from the queue and calls attempt for it, up to limit
// concurrently, and waits for all calls. A pod is then forgotten, or enqueued again after a failure or for a
// requested next attempt. If ctx has ended, neither happens.
func (t *retryQueue) attemptDuePods(ctx context.Context, limit int, attempt func(context.Context, types.UID) attemptResult) {
	due := t.queue.GetWork(t.executor.Now(), nil)
	executor.Each(t.executor, limit, len(due), func(i int) {
		if ctx.Err() != nil {
			return
		}
		t.markAttemptStarted(due[i])
		if o := t.attemptRecoveringPanics(ctx, due[i], attempt); ctx.Err() == nil { // After the end of ctx nothing is retried.
			t.removeOrEnqueueAgain(ctx, due[i], o)
		}
	})
}

// attemptRecoveringPanics calls attempt for one pod, and returns a panic as an error.
func (t *retryQueue) attemptRecoveringPanics(ctx context.Context, uid types.UID, attempt func(context.Context, types.UID) attemptResult) (result attemptResult) {
	defer t.guard.Recover(t.name, &result.err)
	return attempt(ctx, uid)
}

// markAttemptStarted records that a pod does not wait in the queue, because its attempt begins.
func (t *retryQueue) markAttemptStarted(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.mu.pods[uid]
	l.waiting = false
	t.mu.pods[uid] = l
}

// removeOrEnqueueAgain handles the result of an attempt. After a success it forgets the pod, unless the result
// has a next time or the pod was enqueued during the attempt: then it enqueues the pod. After a failure it
// enqueues the pod with a backoff and logs the error, as a warning if the error is new.
func (t *retryQueue) removeOrEnqueueAgain(ctx context.Context, uid types.UID, result attemptResult) {
	if result.err == nil {
		if !result.nextAttempt.IsZero() {
			t.queue.EnqueueAt(uid, result.nextAttempt) // Before updateAfterSuccess: a later add must be able to make it due earlier.
		}
		if t.updateAfterSuccess(uid, !result.nextAttempt.IsZero()) {
			t.queue.Enqueue(uid, t.delay)
		}
		return
	}
	delay, news := t.updateAfterFailure(uid, result.err)
	t.queue.Enqueue(uid, delay)
	level := slog.LevelDebug
	if news {
		level = slog.LevelWarn
	}
	t.log.Log(ctx, level, t.failureMessage, "uid", uid, "after", delay, "err", result.err)
}

// updateAfterSuccess deletes the stored failure and backoff of a pod. If the pod has no next attempt, it
// deletes the whole entry. It returns true, and keeps the pod as waiting, if the pod was enqueued during the
// attempt; the caller must queue it.
func (t *retryQueue) updateAfterSuccess(uid types.UID, hasNext bool) (enqueuedMeanwhile bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.pods[uid].waiting:
		t.mu.pods[uid] = queuedPod{waiting: true}
		return true
	case hasNext:
		t.mu.pods[uid] = queuedPod{waiting: true, dueLater: true}
	default:
		if delete(t.mu.pods, uid); len(t.mu.pods) == 0 {
			t.mu.pods = make(map[types.UID]queuedPod) // A map never shrinks.
		}
	}
	return false
}

// updateAfterFailure stores the error of a pod, increases its backoff, and records that the pod waits. It
// returns the backoff, and whether the error differs from the last one.
func (t *retryQueue) updateAfterFailure(uid types.UID, err error) (delay time.Duration, isNew bool) {
	now := t.executor.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.mu.pods[uid]
	l := queuedPod{waiting: true, backoff: t.retry.Failed(old.backoff, now), lastFailure: err.Error()}
	t.mu.pods[uid] = l
	return l.backoff.Delay, l.lastFailure != old.lastFailure
}

// Defaults of Pods, Containers and Directories.
const (
	// DefaultRetry is the backoff after the first failed removal.
	DefaultRetry = 10 * time.Second
	// DefaultMaxRetry is the maximum backoff.
	DefaultMaxRetry = 5 * time.Minute
	// retryResetAfter is how long after the last failure the backoff starts again from its initial
	// value.
	retryResetAfter = 10 * time.Minute
	// DefaultCallTimeout limits each call to the runtime.
	DefaultCallTimeout = 2 * time.Minute
	// DefaultDelay is how long after a change a pod is checked for dead containers.
	DefaultDelay = 700 * time.Millisecond
	// DefaultMaxRemovals is for how many pods removals run concurrently.
	DefaultMaxRemovals = 4
)

// setRetryDefaults sets the defaults of unset retry times and of the call timeout, and adds an error to done
// for each negative one.
func setRetryDefaults(done *contain.ConfigCheck, retry, maxRetry, callTimeout *time.Duration) {
	contain.DefaultNumber(done, "Retry", retry, DefaultRetry)
	contain.DefaultNumber(done, "MaxRetry", maxRetry, max(*retry, DefaultMaxRetry))
	contain.DefaultNumber(done, "CallTimeout", callTimeout, DefaultCallTimeout)
}

// newGuard returns a guard that recovers panics of callbacks and reports them to panicked. It also replaces
// *log by a logger whose panics are recovered.
func newGuard(clk clock.Clock, log **slog.Logger, panicked func(string, error)) *contain.Guard {
	g := contain.New(contain.Config{Package: "gc", Clock: clk, Log: *log, OnPanic: panicked})
	*log = g.Log()
	return g
}
