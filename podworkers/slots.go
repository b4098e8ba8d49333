package podworkers

import (
	"context"
	"sync"

	"github.com/podkeel/podkeel/internal/turn"
)

// slots bound how many syncs of one class run at once, first come first
// served. A nil *slots bounds nothing.
type slots struct {
	t  turn.Turn
	mu struct {
		sync.Mutex
		free  int
		queue []*place
	}
}

// place is one caller's place in the queue.
type place struct {
	event   turn.Event
	granted bool // guarded by slots.mu
}

// newSlots makes limit slots; no limit is nil.
func newSlots(t turn.Turn, limit int) *slots {
	if limit <= 0 {
		return nil
	}
	s := &slots{t: t}
	s.mu.free = limit
	return s
}

// acquire takes a slot, waiting for its turn. It fails only with ctx.
func (s *slots) acquire(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.mu.free > 0 {
		s.mu.free--
		s.mu.Unlock()
		return nil
	}
	p := &place{event: s.t.NewEvent()}
	s.mu.queue = append(s.mu.queue, p)
	s.mu.Unlock()
	err := p.event.Wait(ctx)
	if err != nil && s.abandon(p) {
		s.release() // Given and given up in the same moment: it goes to the next.
	}
	return err
}

// abandon leaves the queue and reports whether the slot had been given.
func (s *slots) abandon(p *place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range s.mu.queue {
		if q == p {
			s.mu.queue = append(s.mu.queue[:i], s.mu.queue[i+1:]...)
			return false
		}
	}
	return p.granted
}

// release hands the slot to whoever has waited longest.
func (s *slots) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	if len(s.mu.queue) == 0 {
		s.mu.free++
		s.mu.Unlock()
		return
	}
	next := s.mu.queue[0]
	s.mu.queue[0] = nil
	s.mu.queue = s.mu.queue[1:]
	next.granted = true
	s.mu.Unlock()
	next.event.Signal()
}
