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

// checkedQueue is Config.Queue. A panic of it, or an answer that would make Run spin, is
// kept in err: from then on the queue is not called, and Run ends. Nothing is logged or
// told here, where the lock of the workers is held.
type checkedQueue struct {
	inner    workqueue.WorkQueue
	promised time.Time // what Next was last, unless something was enqueued or removed since
	err      error
}

func (q *checkedQueue) EnqueueAt(uid types.UID, at time.Time) {
	if q.err == nil {
		defer q.caught("Queue.EnqueueAt")
		q.promised = time.Time{}
		q.inner.EnqueueAt(uid, at)
	}
}

func (q *checkedQueue) Remove(uid types.UID) {
	if q.err == nil {
		defer q.caught("Queue.Remove")
		q.promised = time.Time{}
		q.inner.Remove(uid)
	}
}

func (q *checkedQueue) GetWork(now time.Time, due []types.UID) []types.UID {
	if q.err != nil {
		return due
	}
	defer q.caught("Queue.GetWork")
	n := len(due)
	due = q.inner.GetWork(now, due)
	for _, uid := range due[n:] {
		if _, still := q.inner.Due(uid); still {
			q.err = fmt.Errorf("Queue.GetWork has not removed pod %q, which it has returned", uid)
		}
	}
	if len(due) == n && !q.promised.IsZero() && !now.Before(q.promised) {
		q.err = fmt.Errorf("Queue.Next was %s, and GetWork at %s has returned nothing", q.promised, now)
	}
	return due
}

// Next is asked right after GetWork: what is still due now would be due for ever.
func (q *checkedQueue) Next(now time.Time) (next time.Time, ok bool) {
	if q.err != nil {
		return time.Time{}, false
	}
	defer q.caught("Queue.Next")
	next, ok = q.inner.Next()
	if q.promised = next; !ok {
		q.promised = time.Time{}
	} else if !next.After(now) {
		q.err = fmt.Errorf("Queue.Next is %s, when GetWork at %s had returned all that was due", next, now)
	}
	return next, ok
}

func (q *checkedQueue) Due(uid types.UID) (due time.Time, ok bool) {
	if q.err != nil {
		return time.Time{}, false
	}
	defer q.caught("Queue.Due")
	return q.inner.Due(uid)
}

// caught is deferred around each call.
func (q *checkedQueue) caught(call string) {
	if v := recover(); v != nil {
		executor.Reraise(v)
		q.err = &contain.Panic{Call: call, Value: v, Stack: debug.Stack()}
	}
}

// queueBroken is true once Run has to end because of the queue.
func (w *Workers) queueBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.queue.err != nil
}

// queueFailed logs what has become of the queue, and tells the hook of a panic. It is nil
// as long as the queue is in order.
func (w *Workers) queueFailed() error {
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
		w.config.Log.Error("the work queue contradicts its contract", "err", err)
	}
	return fmt.Errorf("%w: %w", ErrQueue, err)
}
