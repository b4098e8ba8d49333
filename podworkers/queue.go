package podworkers

import (
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/workqueue"
)

// checkedQueue wraps Config.Queue. It stores the first panic, or the first answer that would make
// Run spin, in err. From then on it does not call the queue, and Run returns. It neither logs nor
// calls hooks, because its caller holds the lock of the workers.
type checkedQueue struct {
	inner        workqueue.WorkQueue
	expectedNext time.Time // the last result of Next; zero after EnqueueAt or Remove
	err          error
}

// EnqueueAt calls the queue's EnqueueAt.
func (q *checkedQueue) EnqueueAt(uid types.UID, at time.Time) {
	if q.err == nil {
		defer q.recoverPanicAsError("Queue.EnqueueAt")
		q.expectedNext = time.Time{}
		q.inner.EnqueueAt(uid, at)
	}
}

// Remove calls the queue's Remove.
func (q *checkedQueue) Remove(uid types.UID) {
	if q.err == nil {
		defer q.recoverPanicAsError("Queue.Remove")
		q.expectedNext = time.Time{}
		q.inner.Remove(uid)
	}
}

// GetWork calls the queue's GetWork. It stores an error if the queue still has a pod that it
// returned, or returned no pod although Next had announced one.
func (q *checkedQueue) GetWork(now time.Time, due []types.UID) []types.UID {
	if q.err != nil {
		return due
	}
	defer q.recoverPanicAsError("Queue.GetWork")
	n := len(due)
	due = q.inner.GetWork(now, due)
	for _, uid := range due[n:] {
		if _, still := q.inner.Due(uid); still {
			q.err = fmt.Errorf("Queue.GetWork returned pod %q but did not remove it", uid)
		}
	}
	if len(due) == n && !q.expectedNext.IsZero() && !now.Before(q.expectedNext) {
		q.err = fmt.Errorf("Queue.Next returned %s, but GetWork at %s returned no pod", q.expectedNext, now)
	}
	return due
}

// Next calls the queue's Next. It is called right after GetWork, so an entry that is already due is
// an error: GetWork would never return it.
func (q *checkedQueue) Next(now time.Time) (next time.Time, ok bool) {
	if q.err != nil {
		return time.Time{}, false
	}
	defer q.recoverPanicAsError("Queue.Next")
	next, ok = q.inner.Next()
	if q.expectedNext = next; !ok {
		q.expectedNext = time.Time{}
	} else if !next.After(now) {
		q.err = fmt.Errorf("Queue.Next returned %s after GetWork at %s, which must return all due pods", next, now)
	}
	return next, ok
}

// Due calls the queue's Due.
func (q *checkedQueue) Due(uid types.UID) (due time.Time, ok bool) {
	if q.err != nil {
		return time.Time{}, false
	}
	defer q.recoverPanicAsError("Queue.Due")
	return q.inner.Due(uid)
}

// recoverPanicAsError recovers a panic of the named call and stores it as the queue's error. It must be
// deferred. A fault that the simulation injects panics again.
func (q *checkedQueue) recoverPanicAsError(call string) {
	if v := recover(); v != nil {
		executor.ReraiseFault(v)
		q.err = &contain.Panic{Call: call, Value: v, Stack: debug.Stack()}
	}
}

// hasQueueFailed reports whether the work queue has panicked or violated its contract, so that Run must return.
func (w *Workers) hasQueueFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.queue.err != nil
}

// logAndReturnQueueError logs the failure of the work queue and returns it wrapped in ErrQueue. It returns nil
// if the queue has not failed. A panic is also recorded by the Guard, which calls Hooks.Panicked.
func (w *Workers) logAndReturnQueueError() error {
	w.mu.Lock()
	err := w.mu.queue.err
	w.mu.Unlock()
	switch p := err.(type) {
	case nil:
		return nil
	case *contain.Panic:
		w.guard.RecordPanic(p.Call, p)
		w.config.Log.Error("the work queue has panicked", "call", p.Call, "err", p, "stack", string(p.Stack))
	default:
		w.config.Log.Error("the work queue has violated its contract", "err", err)
	}
	return fmt.Errorf("%w: %w", ErrQueue, err)
}
