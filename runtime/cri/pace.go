package cri

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// stopPace limits the concurrent stops of one sandbox. A stop occupies a slot until the runtime has
// returned, or for maxHold at most. A fast runtime therefore works through the queue at its own
// speed, and a slow stop does not block the queue.
type stopPace struct {
	slots   int
	maxHold time.Duration
}

// All container stops of one sandbox go through one containerd shim. When more than 32 exits are
// queued, the shim handles one exit per second. Each waits for processes whose exit is further
// behind in the queue. Stopping 60 containers at once then takes minutes instead of milliseconds. A
// stop whose container uses its grace period must not delay the signals of the stops behind it,
// hence maxHold.
var containerStopPace = stopPace{slots: 8, maxHold: 400 * time.Millisecond}

// newSandboxStopPace returns a limit of one concurrent stop or removal per sandbox; a call that takes longer
// than limit is not counted any longer. Two concurrent calls make containerd remove the network twice, and the
// second CNI call fails because the device is gone.
func newSandboxStopPace(limit time.Duration) stopPace { return stopPace{slots: 1, maxHold: limit} }

// sandboxQueue is the queue of stops of one sandbox, as a plain value.
//
//	enqueue ──▶ waiting ──tryAcquireAndWakeNext──▶ holders ──removeWaitingOrRunningStop, or maxHold is over──▶ (removed)
type sandboxQueue struct {
	stopPace
	holders []slotHolder
	waiting []uint64 // in order of arrival
}

// slotHolder is a stop that occupies a slot until it is removed or a time has passed.
type slotHolder struct {
	stop  uint64
	until time.Time
}

// enqueue adds a stop call to the end of the sandbox's queue.
func (l *sandboxQueue) enqueue(stopNumber uint64) { l.waiting = append(l.waiting, stopNumber) }

// tryAcquire lets a stop call begin if the call is first in the sandbox's queue and the number of running calls
// is below the limit. A call that has run for the maximum time is not counted any longer. ok says whether the
// call may begin. If it is first and must wait, next is the time at which a running call stops being counted.
// In all other cases next is zero.
func (l *sandboxQueue) tryAcquire(stopNumber uint64, now time.Time) (ok bool, next time.Time) {
	l.holders = slices.DeleteFunc(l.holders, func(p slotHolder) bool { return !p.until.After(now) })
	switch {
	case l.waiting[0] != stopNumber:
		return false, time.Time{}
	case len(l.holders) == l.slots:
		return false, slices.MinFunc(l.holders, func(a, b slotHolder) int { return a.until.Compare(b.until) }).until
	}
	l.waiting = l.waiting[1:]
	l.holders = append(l.holders, slotHolder{stopNumber, now.Add(l.maxHold)})
	return true, time.Time{}
}

// removeWaitingOrRunningStop removes a stop call from the sandbox's queue, or from its running calls.
func (l *sandboxQueue) removeWaitingOrRunningStop(stopNumber uint64) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w uint64) bool { return w == stopNumber })
	l.holders = slices.DeleteFunc(l.holders, func(p slotHolder) bool { return p.stop == stopNumber })
}

// isEmpty reports whether no stop call waits or runs for the sandbox.
func (l *sandboxQueue) isEmpty() bool { return len(l.waiting)+len(l.holders) == 0 }

// stopQueue is the concurrent shell around the queues of all sandboxes.
type stopQueue struct {
	pace     stopPace
	executor executor.Executor

	mu struct {
		sync.Mutex
		stops uint64 // number of stops so far
		lanes map[string]*sandboxQueue
		wake  map[uint64]executor.Event // by waiting stop
	}
}

// waitUntilStopMayBegin waits until a stop call for a sandbox may begin. The caller must call leave after the
// stop call has returned. It returns an error if ctx ends first; leave is then nil.
func (q *stopQueue) waitUntilStopMayBegin(ctx context.Context, sandbox string) (leave func(), err error) {
	stop, wake := q.enqueue(sandbox)
	leave = func() { q.releaseAndWakeNext(sandbox, stop) }
	for {
		ok, next := q.tryAcquireAndWakeNext(sandbox, stop)
		switch {
		case ok:
			return leave, nil
		case next.IsZero():
			err = wake.Wait(ctx)
		default:
			_, err = wake.WaitUntil(ctx, next)
		}
		if err != nil {
			leave()
			return nil, err
		}
	}
}

// enqueue adds a new stop call to the queue of a sandbox. It creates a missing queue. It returns the number of
// the stop call, and the event that is signalled when the call becomes first in the queue.
func (q *stopQueue) enqueue(sandbox string) (stop uint64, wake executor.Event) {
	wake = q.executor.NewEvent()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.lanes == nil {
		q.mu.lanes, q.mu.wake = map[string]*sandboxQueue{}, map[uint64]executor.Event{}
	}
	if q.mu.lanes[sandbox] == nil {
		q.mu.lanes[sandbox] = &sandboxQueue{stopPace: q.pace}
	}
	stop = q.mu.stops
	q.mu.stops++
	q.mu.wake[stop] = wake
	q.mu.lanes[sandbox].enqueue(stop)
	return stop, wake
}

// tryAcquireAndWakeNext lets a stop call begin if the call is first in the sandbox's queue and the number of
// running calls is below the limit. A call that has run for a maximum time is not counted any longer. If the
// call may begin, ok is true and the next waiting call is woken. If it may not begin, ok is false. If it is
// first in the queue, next is then the time at which a running call stops being counted. next is zero if the
// call is not first.
func (q *stopQueue) tryAcquireAndWakeNext(sandbox string, stopNumber uint64) (ok bool, next time.Time) {
	now := q.executor.Now()
	q.mu.Lock()
	l := q.mu.lanes[sandbox]
	ok, next = l.tryAcquire(stopNumber, now)
	var first executor.Event
	if ok {
		delete(q.mu.wake, stopNumber)
		first = q.firstWaiterLocked(l)
	}
	q.mu.Unlock()
	signalIfSet(first)
	return ok, next
}

// releaseAndWakeNext removes a stop call from the waiting or running calls of a sandbox, and wakes the first
// call that waits. It deletes the sandbox's queue if that is empty.
func (q *stopQueue) releaseAndWakeNext(sandbox string, stopNumber uint64) {
	q.mu.Lock()
	var first executor.Event
	delete(q.mu.wake, stopNumber)
	if l := q.mu.lanes[sandbox]; l != nil { // The queue may already be deleted because all its slots had expired.
		l.removeWaitingOrRunningStop(stopNumber)
		first = q.firstWaiterLocked(l)
		if l.isEmpty() {
			delete(q.mu.lanes, sandbox)
		}
	}
	q.mu.Unlock()
	signalIfSet(first)
}

// firstWaiterLocked returns the event of the first stop call that waits in the queue, or nil if none waits.
func (q *stopQueue) firstWaiterLocked(l *sandboxQueue) executor.Event {
	if len(l.waiting) == 0 {
		return nil
	}
	return q.mu.wake[l.waiting[0]]
}

// signalIfSet signals e unless e is nil.
func signalIfSet(e executor.Event) {
	if e != nil {
		e.Signal()
	}
}
