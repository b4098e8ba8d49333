package podworkers

import (
	"container/list"
	"context"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
)

// slots limit how many calls of one class run at once, first come first served. A nil *slots is no
// limit.
type slots struct {
	executor executor.Executor
	mu       struct {
		sync.Mutex
		free  int
		queue list.List // of *waiter; a waiter that gives up is removed from the middle
	}
}

// waiter is one call that waits for a slot.
type waiter struct {
	event   executor.Event
	granted bool // guarded by slots.mu
}

// newSlots returns a semaphore with limit slots. For zero or less it returns nil, which means no limit.
func newSlots(t executor.Executor, limit int) *slots {
	if limit <= 0 {
		return nil
	}
	s := &slots{executor: t}
	s.mu.free = limit
	return s
}

// takeSlotOrWaitInQueue takes a free slot, or waits in a first-in-first-out queue until it gets one. It returns
// an error only if ctx is done before.
func (s *slots) takeSlotOrWaitInQueue(ctx context.Context) error {
	s.mu.Lock()
	if s.mu.free > 0 {
		s.mu.free--
		s.mu.Unlock()
		return nil
	}
	p := &waiter{event: s.executor.NewEvent()}
	e := s.mu.queue.PushBack(p)
	s.mu.Unlock()
	err := p.event.Wait(ctx)
	if err != nil {
		s.leaveQueueOrRelease(e, p)
	}
	return err
}

// leaveQueueOrRelease removes a waiter that gives up from the queue. If the waiter was granted a slot at the
// same moment, it releases that slot instead.
func (s *slots) leaveQueueOrRelease(element *list.Element, self *waiter) {
	s.mu.Lock()
	granted := self.granted
	if !granted {
		s.mu.queue.Remove(element)
	}
	s.mu.Unlock()
	if granted {
		s.freeSlotOrGiveToNext()
	}
}

// freeSlotOrGiveToNext gives a slot to the worker's call that has waited longest. If no call waits, the slot
// becomes free.
func (s *slots) freeSlotOrGiveToNext() {
	s.mu.Lock()
	first := s.mu.queue.Front()
	if first == nil {
		s.mu.free++
		s.mu.Unlock()
		return
	}
	p := s.mu.queue.Remove(first).(*waiter)
	p.granted = true
	s.mu.Unlock()
	p.event.Signal()
}

// slotLease is the slot of one call. Parts of a call may wait at the same time, and nested. The
// call has no slot from the start of the first wait to the end of the last one.
type slotLease struct {
	slots *slots // nil: no limit

	mu struct {
		sync.Mutex
		waiting int32 // parts of the call that wait without the slot
		held    bool
		over    bool
	}
}

// acquireInitial waits for the slot with which a call starts. Without a limit it does nothing. It returns an
// error only if ctx is done before.
func (l *slotLease) acquireInitial(ctx context.Context) error {
	if l.slots == nil {
		return nil
	}
	return l.acquireUnlessHeld(ctx)
}

// releaseForGood releases the slot of a worker's call when the call ends. It also marks the lease as over: if
// another goroutine of the call is still acquiring a slot, that slot is released at once.
func (l *slotLease) releaseForGood() {
	if l.slots == nil {
		return
	}
	l.mu.Lock()
	l.mu.over = true
	l.mu.Unlock()
	l.releaseSlot()
}

// releaseWhile releases the slot that a worker's call holds, runs wait, and acquires a slot again. Slots limit
// how many calls of pod workers run at the same time. If another part of the same call also waits in
// releaseWhile, the part that returns last acquires the slot. It may return without a slot if ctx is done. If
// the number of calls is not limited, it only runs wait.
func (l *slotLease) releaseWhile(ctx context.Context, wait func()) {
	if l.slots == nil {
		wait()
		return
	}
	l.mu.Lock()
	l.mu.waiting++
	l.mu.Unlock()
	l.releaseSlot()
	defer func() {
		l.mu.Lock()
		l.mu.waiting--
		last := l.mu.waiting == 0
		l.mu.Unlock()
		if last {
			_ = l.acquireUnlessHeld(ctx)
		}
	}()
	wait()
}

// releaseSlot releases the slot that a worker's call holds. It does nothing if the call holds none.
func (l *slotLease) releaseSlot() {
	l.mu.Lock()
	held := l.mu.held
	l.mu.held = false
	l.mu.Unlock()
	if held {
		l.slots.freeSlotOrGiveToNext()
	}
}

// acquireUnlessHeld waits for a slot and keeps it for a worker's call. If the call already holds a slot or has
// ended, it releases the new slot at once. It returns an error only if ctx is done before.
func (l *slotLease) acquireUnlessHeld(ctx context.Context) error {
	if err := l.slots.takeSlotOrWaitInQueue(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	needed := !l.mu.held && !l.mu.over
	l.mu.held = l.mu.held || needed
	l.mu.Unlock()
	if !needed {
		l.slots.freeSlotOrGiveToNext()
	}
	return nil
}
