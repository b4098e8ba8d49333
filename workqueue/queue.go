package workqueue

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Config configures a Queue. The zero value is valid.
type Config struct {
	// Clock is read when a pod is enqueued with a delay. Nil is the real clock.
	Clock clock.PassiveClock
	// Notify is called after each call that made the earliest due time earlier, or added the first
	// entry. It is called by the goroutine of that call, without the queue's lock, and possibly by
	// several goroutines at once. Nil: no call.
	Notify func()
}

// Queue is a WorkQueue that also takes delays and reports when its earliest time became earlier.
// Its methods may be called from any goroutine, also from Notify.
type Queue struct {
	clock  clock.PassiveClock
	notify func()
	// epoch is when the queue was made. Due times are stored as durations since then: half the size
	// of a time.Time, and as monotonic as the clock is.
	epoch time.Time

	mu struct {
		sync.Mutex
		heap dueHeap
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

// Enqueue makes the pod due after the delay. It replaces the pod's due time. A delay of zero or
// less makes the pod due at once.
func (q *Queue) Enqueue(uid types.UID, delay time.Duration) {
	q.EnqueueAt(uid, q.clock.Now().Add(delay))
}

// EnqueueAt makes the pod due at a time. It replaces the pod's due time. A time is limited to 292
// years before or after the creation of the queue.
func (q *Queue) EnqueueAt(uid types.UID, at time.Time) {
	q.setDueAndNotifyIfEarliest(uid, at.Sub(q.epoch)) // Sub returns the largest Duration if the distance is larger.
}

// GetWork removes the pods whose time is not after now, and appends them to due in order of due
// time. Equal times are returned in the order in which they were enqueued.
func (q *Queue) GetWork(now time.Time, due []types.UID) []types.UID {
	since := now.Sub(q.epoch)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.mu.heap.len() > 0 && q.mu.heap.mustEarliestSlot().due <= since {
		due = append(due, q.mu.heap.mustEarliestSlot().uid)
		q.mu.heap.removeAt(0)
	}
	return due
}

// Remove deletes the pod's entry, if it has one.
func (q *Queue) Remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.heap.remove(uid)
}

// Next returns the earliest due time, and false if the queue is empty. A time in the past means
// that GetWork has something to return.
func (q *Queue) Next() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.heap.len() == 0 {
		return time.Time{}, false
	}
	return q.epoch.Add(q.mu.heap.mustEarliestSlot().due), true
}

// Due returns the pod's due time, which may be in the past, and false if the pod is not queued.
func (q *Queue) Due(uid types.UID) (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due, ok := q.mu.heap.dueOf(uid)
	if !ok {
		return time.Time{}, false
	}
	return q.epoch.Add(due), true
}

// Len returns the number of entries, due or not.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.heap.len()
}

// setDueAndNotifyIfEarliest stores the due time of a pod. If the earliest due time of the queue became earlier,
// it calls Notify. Without Notify it only stores the time.
func (q *Queue) setDueAndNotifyIfEarliest(uid types.UID, due time.Duration) {
	if q.lockAndSetDue(uid, due) && q.notify != nil {
		q.notify()
	}
}

// lockAndSetDue locks the queue and stores the due time of a pod. It reports whether the queue's earliest due
// time became earlier; for an empty queue it returns true.
func (q *Queue) lockAndSetDue(uid types.UID, due time.Duration) (earliestChanged bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	earlier := q.mu.heap.len() == 0 || due < q.mu.heap.mustEarliestSlot().due
	q.mu.heap.set(uid, due)
	return earlier
}
