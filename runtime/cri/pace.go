package cri

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// pace is how many stops of one sandbox are under way at once. A stop needs a place. It
// gives the place back when the runtime has answered, so that a fast runtime sets the pace
// itself, and at the latest after held: it must not keep those behind it waiting.
type pace struct {
	places int
	held   time.Duration
}

// All stops of containers in one sandbox go through one shim. The shim of containerd
// handles one exit a second once 32 exits are in its queue, and each of them waits there
// for processes whose exit is further behind: stopping 60 containers at once then takes
// minutes instead of milliseconds. A stop that is not answered, since its container uses
// its grace, must not keep those behind it from sending their signal.
var ofContainers = pace{places: 8, held: 400 * time.Millisecond}

// Stops and removals of one sandbox go one after the other, however long each takes:
// two at once make containerd take the network down twice at once, and the plugin that
// comes second fails because the device is gone.
func ofSandboxes(limit time.Duration) pace { return pace{places: 1, held: limit} }

// lane is the state of the stops in one sandbox, as a plain value.
//
//	arrive ──▶ waiting ──take──▶ placed ──leave, or held is over──▶ (gone)
type lane struct {
	pace
	placed  []placed
	waiting []uint64 // in order of arrival
}

// placed is a stop that has a place, until it leaves or until that time.
type placed struct {
	stop  uint64
	until time.Time
}

// arrive puts a stop at the end of the queue.
func (l *lane) arrive(stop uint64) { l.waiting = append(l.waiting, stop) }

// take gives a place to a stop if it is the first in the queue and a place is free. If
// it is the first and no place is free, next is when one will be at the latest.
func (l *lane) take(stop uint64, now time.Time) (ok bool, next time.Time) {
	l.placed = slices.DeleteFunc(l.placed, func(p placed) bool { return !p.until.After(now) })
	switch {
	case l.waiting[0] != stop:
		return false, time.Time{}
	case len(l.placed) == l.places:
		return false, slices.MinFunc(l.placed, func(a, b placed) int { return a.until.Compare(b.until) }).until
	}
	l.waiting = l.waiting[1:]
	l.placed = append(l.placed, placed{stop, now.Add(l.held)})
	return true, time.Time{}
}

// leave removes a stop, wherever it is.
func (l *lane) leave(stop uint64) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w uint64) bool { return w == stop })
	l.placed = slices.DeleteFunc(l.placed, func(p placed) bool { return p.stop == stop })
}

// idle reports whether nothing waits and nothing has a place.
func (l *lane) idle() bool { return len(l.waiting)+len(l.placed) == 0 }

// stopQueue is the shell around the lanes of all sandboxes.
type stopQueue struct {
	pace     pace
	executor executor.Executor

	mu struct {
		sync.Mutex
		stops uint64 // so far
		lanes map[string]*lane
		wake  map[uint64]executor.Event // of those that wait
	}
}

// enter waits until a stop in a sandbox may begin. Leave must be called when the runtime
// has answered; after an error it has been.
func (q *stopQueue) enter(ctx context.Context, sandbox string) (leave func(), err error) {
	stop, wake := q.arrive(sandbox)
	leave = func() { q.leave(sandbox, stop) }
	for {
		ok, next := q.take(sandbox, stop)
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

func (q *stopQueue) arrive(sandbox string) (stop uint64, wake executor.Event) {
	wake = q.executor.NewEvent()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.lanes == nil {
		q.mu.lanes, q.mu.wake = map[string]*lane{}, map[uint64]executor.Event{}
	}
	if q.mu.lanes[sandbox] == nil {
		q.mu.lanes[sandbox] = &lane{pace: q.pace}
	}
	stop = q.mu.stops
	q.mu.stops++
	q.mu.wake[stop] = wake
	q.mu.lanes[sandbox].arrive(stop)
	return stop, wake
}

func (q *stopQueue) take(sandbox string, stop uint64) (ok bool, next time.Time) {
	now := q.executor.Now()
	q.mu.Lock()
	l := q.mu.lanes[sandbox]
	ok, next = l.take(stop, now)
	var first executor.Event
	if ok {
		delete(q.mu.wake, stop)
		first = q.firstLocked(l)
	}
	q.mu.Unlock()
	signal(first)
	return ok, next
}

func (q *stopQueue) leave(sandbox string, stop uint64) {
	q.mu.Lock()
	var first executor.Event
	delete(q.mu.wake, stop)
	if l := q.mu.lanes[sandbox]; l != nil { // A lane of which all places have lapsed may be gone.
		l.leave(stop)
		first = q.firstLocked(l)
		if l.idle() {
			delete(q.mu.lanes, sandbox)
		}
	}
	q.mu.Unlock()
	signal(first)
}

// firstLocked is how to wake the first stop in the queue, nil if none waits.
func (q *stopQueue) firstLocked(l *lane) executor.Event {
	if len(l.waiting) == 0 {
		return nil
	}
	return q.mu.wake[l.waiting[0]]
}

// signal wakes a stop, if there is one.
func signal(e executor.Event) {
	if e != nil {
		e.Signal()
	}
}
