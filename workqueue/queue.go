package workqueue

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Config is what a Queue is made of. The zero value is complete.
type Config struct {
	// Clock says what time it is when a pod is enqueued with a delay. Nil means the real
	// clock.
	Clock clock.PassiveClock
	// Notify is called after each call that made the earliest due time
	// earlier, or gave an empty queue one. It is called by the goroutine that
	// made the call, without the queue's lock, and possibly by several at
	// once. Nil: no call.
	Notify func()
}

// Queue is a WorkQueue that can also take delays and tell when its earliest time became
// earlier. Its methods may be called from any goroutine, also from within Notify.
type Queue struct {
	clock  clock.PassiveClock
	notify func()
	// epoch is when the queue was made. Due times are kept as distances from
	// it: half the size of a time.Time, and as monotonic as the clock is.
	epoch time.Time

	mu struct {
		sync.Mutex
		heap heap
	}
}

var _ WorkQueue = (*Queue)(nil)

// New returns an empty queue.
func New(cfg Config) *Queue {
	cfg.Clock = cmp.Or[clock.PassiveClock](cfg.Clock, clock.RealClock{})
	q := &Queue{clock: cfg.Clock, notify: cfg.Notify, epoch: cfg.Clock.Now()}
	q.mu.heap.index = make(map[types.UID]int32)
	return q
}

// Enqueue makes the pod due after the delay, in place of whatever due time it
// had. A delay of zero or less makes it due at once.
func (q *Queue) Enqueue(uid types.UID, delay time.Duration) {
	q.EnqueueAt(uid, q.clock.Now().Add(delay))
}

// EnqueueAt makes the pod due at the given time, in place of whatever due time
// it had. A time more than 292 years from when the queue was made is as good as never, or
// as at once.
func (q *Queue) EnqueueAt(uid types.UID, at time.Time) {
	q.put(uid, at.Sub(q.epoch)) // Sub keeps within what a Duration can hold.
}

// GetWork removes the pods whose time is not after now and returns them appended to due, in
// order of due time and, where times are equal, of enqueueing.
func (q *Queue) GetWork(now time.Time, due []types.UID) []types.UID {
	since := now.Sub(q.epoch)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.mu.heap.len() > 0 && q.mu.heap.first().due <= since {
		due = append(due, q.mu.heap.first().uid)
		q.mu.heap.removeAt(0)
	}
	return due
}

// Remove forgets the pod's due time, if it has one.
func (q *Queue) Remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.heap.remove(uid)
}

// Next is the earliest due time, and false if nothing is queued. It may lie in
// the past: then GetWork has something to return.
func (q *Queue) Next() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.heap.len() == 0 {
		return time.Time{}, false
	}
	return q.epoch.Add(q.mu.heap.first().due), true
}

// Due is when the pod is due, which may lie in the past, and false if it is not
// queued.
func (q *Queue) Due(uid types.UID) (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due, ok := q.mu.heap.due(uid)
	if !ok {
		return time.Time{}, false
	}
	return q.epoch.Add(due), true
}

// Len is the number of pods that have a due time, passed or not.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.heap.len()
}

// put stores the due time and tells Notify if it is the earliest.
func (q *Queue) put(uid types.UID, due time.Duration) {
	if q.putUnderLock(uid, due) && q.notify != nil {
		q.notify()
	}
}

// putUnderLock reports whether the earliest due time became earlier.
func (q *Queue) putUnderLock(uid types.UID, due time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	earlier := q.mu.heap.len() == 0 || due < q.mu.heap.first().due
	q.mu.heap.put(uid, due)
	return earlier
}
