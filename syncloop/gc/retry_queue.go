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

// retryQueue is the pods for which something is to be done, each as soon as it can
// be, and again with a backoff if it fails.
type retryQueue struct {
	once     once
	executor executor.Executor
	wake     executor.Event
	queue    *workqueue.Queue
	retry    backoff.Exponential
	log      *slog.Logger
	guard    *contain.Guard
	call     string        // is the name of a try that panics
	what     string        // is told of a try that failed
	delay    time.Duration // between the handing over and the try
	mu       struct {
		sync.Mutex
		pods map[types.UID]leftover // handed over and not done yet
	}
}

// leftover is a pod for which something is to be done.
type leftover struct {
	waiting bool // in the queue; otherwise it is being done
	early   bool // it waits for a time, and is looked at before if it is handed over again
	failed  backoff.State
	why     string // it failed last
}

// outcome is what a try has come to.
type outcome struct {
	next time.Time // when there will be more to do; zero: never
	err  error
}

// retryConfig is what the collectors that work on one pod after another differ in.
type retryConfig struct {
	clock           clock.Clock
	retry, maxRetry time.Duration
	log             **slog.Logger // is contained as well
	panicked        func(call string, err error)
	call, what      string
	delay           time.Duration
}

func newRetryQueue(c retryConfig) *retryQueue {
	t := &retryQueue{
		executor: executor.Over(c.clock), retry: backoff.Exponential{Initial: c.retry, Max: c.maxRetry, Reset: resetRetry},
		guard: guard(c.clock, c.log, c.panicked), log: *c.log, call: c.call, what: c.what, delay: c.delay,
	}
	t.wake = t.executor.NewEvent()
	t.queue = workqueue.New(workqueue.Config{Clock: c.clock, Notify: t.wake.Signal})
	t.mu.pods = make(map[types.UID]leftover)
	return t
}

// add hands pods over. It never blocks, and a pod that waits after a failure
// keeps its place and its backoff.
func (t *retryQueue) add(uids []types.UID) {
	for _, uid := range uids {
		if t.enter(uid) {
			t.queue.Enqueue(uid, t.delay)
		}
	}
}

// enter reports whether the pod is to be queued. One that is being worked on is:
// that may have seen less than there is now.
func (t *retryQueue) enter(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.mu.pods[uid]
	if l.waiting && !l.early {
		return false
	}
	l.waiting, l.early = true, false
	t.mu.pods[uid] = l
	return true
}

// once refuses a second Run.
type once struct{ ran atomic.Bool }

func (o *once) begin() error {
	if o.ran.Swap(true) {
		return fmt.Errorf("gc: %w", runtime.ErrSecondRun)
	}
	return nil
}

// run makes a step whenever a pod is due, until ctx ends. It refuses a second call.
func (t *retryQueue) run(ctx context.Context, step func(context.Context)) error {
	if err := t.once.begin(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		step(ctx)
		if t.pause(ctx) != nil {
			break
		}
	}
	return nil
}

func (t *retryQueue) pause(ctx context.Context) error {
	next, ok := t.queue.Next()
	if !ok {
		return t.wake.Wait(ctx)
	}
	_, err := t.wake.WaitUntil(ctx, next)
	return err
}

// step tries every pod that is due, several at once, and returns when it has.
func (t *retryQueue) step(ctx context.Context, limit int, do func(context.Context, types.UID) outcome) {
	due := t.queue.GetWork(t.executor.Now(), nil)
	executor.Each(t.executor, limit, len(due), func(i int) {
		if ctx.Err() != nil {
			return
		}
		t.begin(due[i])
		if o := t.contained(ctx, due[i], do); ctx.Err() == nil { // Otherwise there will be no later.
			t.end(ctx, due[i], o)
		}
	})
}

// contained makes one try; a panic in it is its error.
func (t *retryQueue) contained(ctx context.Context, uid types.UID, do func(context.Context, types.UID) outcome) (o outcome) {
	defer t.guard.Recover(t.call, &o.err)
	return do(ctx, uid)
}

func (t *retryQueue) begin(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.mu.pods[uid]
	l.waiting = false
	t.mu.pods[uid] = l
}

// end puts a pod away, or back into the queue.
func (t *retryQueue) end(ctx context.Context, uid types.UID, o outcome) {
	if o.err == nil {
		if !o.next.IsZero() {
			t.queue.EnqueueAt(uid, o.next) // Before it can be handed over again, which makes it due sooner.
		}
		if t.done(uid, !o.next.IsZero()) {
			t.queue.Enqueue(uid, t.delay)
		}
		return
	}
	delay, news := t.failed(uid, o.err)
	t.queue.Enqueue(uid, delay)
	level := slog.LevelDebug
	if news {
		level = slog.LevelWarn
	}
	t.log.Log(ctx, level, t.what, "uid", uid, "after", delay, "err", o.err)
}

// done reports whether the pod was handed over again meanwhile.
func (t *retryQueue) done(uid types.UID, more bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.pods[uid].waiting:
		t.mu.pods[uid] = leftover{waiting: true}
		return true
	case more:
		t.mu.pods[uid] = leftover{waiting: true, early: true}
	default:
		if delete(t.mu.pods, uid); len(t.mu.pods) == 0 {
			t.mu.pods = make(map[types.UID]leftover) // A map never shrinks.
		}
	}
	return false
}

// failed says when to try again, and whether the reason is a new one.
func (t *retryQueue) failed(uid types.UID, err error) (delay time.Duration, news bool) {
	now := t.executor.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.mu.pods[uid]
	l := leftover{waiting: true, failed: t.retry.Failed(old.failed, now), why: err.Error()}
	t.mu.pods[uid] = l
	return l.failed.Delay, l.why != old.why
}

// Defaults of those that remove something of pods.
const (
	// DefaultRetry is how long a removal that failed waits for the next try.
	DefaultRetry = 10 * time.Second
	// DefaultMaxRetry is what that wait doubles up to.
	DefaultMaxRetry = 5 * time.Minute
	// resetRetry is how long after the last failure the wait is the first one again.
	resetRetry = 10 * time.Minute
	// DefaultCallTimeout bounds each call to the runtime.
	DefaultCallTimeout = 2 * time.Minute
	// DefaultDelay is how long after a change dead containers are looked for.
	DefaultDelay = 700 * time.Millisecond
	// DefaultMaxRemovals is how many pods are removed at once.
	DefaultMaxRemovals = 4
)

// times are the same of all that remove something of one pod after another.
func times(done *contain.ConfigCheck, retry, maxRetry, callTimeout *time.Duration) {
	contain.DefaultNumber(done, "Retry", retry, DefaultRetry)
	contain.DefaultNumber(done, "MaxRetry", maxRetry, max(*retry, DefaultMaxRetry))
	contain.DefaultNumber(done, "CallTimeout", callTimeout, DefaultCallTimeout)
}

// guard contains what a collector calls that others have written, its log first.
func guard(clk clock.Clock, log **slog.Logger, panicked func(string, error)) *contain.Guard {
	g := contain.New(contain.Config{Package: "gc", Clock: clk, Log: *log, OnPanic: panicked})
	*log = g.Log()
	return g
}
