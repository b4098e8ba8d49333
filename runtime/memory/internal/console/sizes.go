package console

import (
	"context"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// sizes knows the size of a terminal.
type sizes struct {
	changed executor.Event
	mu      struct {
		sync.Mutex
		size  runtime.TerminalSize
		fresh bool // nobody has waited for this one
		from  int  // from so many clients others may come
	}
}

func newSizes(x executor.Executor) *sizes { return &sizes{changed: x.NewEvent()} }

// begin is called before follow.
func (s *sizes) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.from++
}

// follow notes sizes as they come.
func (s *sizes) follow(ctx context.Context, next func(context.Context) (runtime.TerminalSize, bool)) {
	defer s.end()
	for {
		size, ok := next(ctx)
		if !ok {
			return
		}
		s.mu.Lock()
		s.mu.size, s.mu.fresh = size, true
		s.mu.Unlock()
		s.changed.Signal()
	}
}

func (s *sizes) end() {
	s.mu.Lock()
	s.mu.from--
	s.mu.Unlock()
	s.changed.Signal()
}

// wait returns the newest size, which with fresh it has not returned before with fresh.
func (s *sizes) wait(ctx context.Context, fresh bool) (runtime.TerminalSize, bool) {
	for {
		s.mu.Lock()
		size, ok, over := s.mu.size, s.mu.fresh || !fresh && s.mu.size != runtime.TerminalSize{}, s.mu.from == 0
		s.mu.fresh = s.mu.fresh && !fresh
		s.mu.Unlock()
		if ok || over || s.changed.Wait(ctx) != nil {
			return size, ok
		}
	}
}
