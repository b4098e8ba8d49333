package podworkers

import (
	"container/list"
	"context"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
)

// slots bound how many syncs of one class run at once, first come first
// served. A nil *slots bounds nothing.
type slots struct {
	t  executor.Executor
	mu struct {
		sync.Mutex
		free  int
		queue list.List // of *place; whoever gives up leaves from the middle
	}
}

// place is one caller's place in the queue.
type place struct {
	event   executor.Event
	granted bool // guarded by slots.mu
}

// newSlots makes limit slots; no limit is nil.
func newSlots(t executor.Executor, limit int) *slots {
	if limit <= 0 {
		return nil
	}
	s := &slots{t: t}
	s.mu.free = limit
	return s
}

// acquire takes a slot, waiting for its turn. It fails only with ctx.
func (s *slots) acquire(ctx context.Context) error {
	s.mu.Lock()
	if s.mu.free > 0 {
		s.mu.free--
		s.mu.Unlock()
		return nil
	}
	p := &place{event: s.t.NewEvent()}
	e := s.mu.queue.PushBack(p)
	s.mu.Unlock()
	err := p.event.Wait(ctx)
	if err != nil {
		s.abandon(e, p)
	}
	return err
}

// abandon leaves the queue. If the slot was given in the same moment it goes
// to the next.
func (s *slots) abandon(e *list.Element, p *place) {
	s.mu.Lock()
	granted := p.granted
	if !granted {
		s.mu.queue.Remove(e)
	}
	s.mu.Unlock()
	if granted {
		s.release()
	}
}

// release hands a slot to whoever has waited longest.
func (s *slots) release() {
	s.mu.Lock()
	first := s.mu.queue.Front()
	if first == nil {
		s.mu.free++
		s.mu.Unlock()
		return
	}
	p := s.mu.queue.Remove(first).(*place)
	p.granted = true
	s.mu.Unlock()
	p.event.Signal()
}

// lease is the claim of one sync on a slot. A sync may wait in several places
// at once, and nested; it does without its slot from the first wait's begin
// to the last one's end.
type lease struct {
	slots *slots // nil: nothing is bounded

	mu struct {
		sync.Mutex
		waiting int32 // parts of the sync that do without
		held    bool
		over    bool
	}
}

// begin takes the slot with which the sync starts.
func (l *lease) begin(ctx context.Context) error {
	if l.slots == nil {
		return nil
	}
	return l.regain(ctx)
}

// end gives the slot back for good.
func (l *lease) end() {
	if l.slots == nil {
		return
	}
	l.mu.Lock()
	l.mu.over = true
	l.mu.Unlock()
	l.giveBack()
}

// without runs wait with the slot given back. A sync that was cancelled
// meanwhile does not stand in line again: all that is left of it is the way
// out, and that must not wait for others.
func (l *lease) without(ctx context.Context, wait func()) {
	if l.slots == nil {
		wait()
		return
	}
	l.mu.Lock()
	l.mu.waiting++
	l.mu.Unlock()
	l.giveBack()
	defer func() {
		l.mu.Lock()
		l.mu.waiting--
		last := l.mu.waiting == 0
		l.mu.Unlock()
		if last {
			_ = l.regain(ctx)
		}
	}()
	wait()
}

func (l *lease) giveBack() {
	l.mu.Lock()
	held := l.mu.held
	l.mu.held = false
	l.mu.Unlock()
	if held {
		l.slots.release()
	}
}

// regain takes a slot, unless another part of the sync has done so meanwhile.
func (l *lease) regain(ctx context.Context) error {
	if err := l.slots.acquire(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	needed := !l.mu.held && !l.mu.over
	l.mu.held = l.mu.held || needed
	l.mu.Unlock()
	if !needed {
		l.slots.release()
	}
	return nil
}
