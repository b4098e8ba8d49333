package console

import (
	"context"
	"sync"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// terminalSize is the current size of a terminal, as its clients report it.
type terminalSize struct {
	changed executor.Event
	mu      struct {
		sync.Mutex
		size  runtime.TerminalSize
		fresh bool // no call of Resized has returned it yet
		from  int  // the number of clients that may still report a size
	}
}

func newTerminalSize(x executor.Executor) *terminalSize { return &terminalSize{changed: x.NewEvent()} }

// incrementSizeSources increments the number of clients that report terminal sizes. It is called before followResizes.
func (s *terminalSize) incrementSizeSources() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.from++
}

// followResizes stores each terminal size that a client reports, and wakes the waiters, until nextSize returns
// false. It then decrements the number of clients that report sizes.
func (s *terminalSize) followResizes(ctx context.Context, nextSize func(context.Context) (runtime.TerminalSize, bool)) {
	defer s.decrementSizeSources()
	for {
		size, ok := nextSize(ctx)
		if !ok {
			return
		}
		s.mu.Lock()
		s.mu.size, s.mu.fresh = size, true
		s.mu.Unlock()
		s.changed.Signal()
	}
}

// decrementSizeSources decrements the number of clients that report terminal sizes, and wakes the waiters for a size.
func (s *terminalSize) decrementSizeSources() {
	s.mu.Lock()
	s.mu.from--
	s.mu.Unlock()
	s.changed.Signal()
}

// waitForSize returns the current terminal size. If no client has reported a size yet, it waits for one. With
// onlyNew it waits for a size that no earlier call with onlyNew has returned. It returns false if ctx ends, or
// if no client reports sizes any longer.
func (s *terminalSize) waitForSize(ctx context.Context, onlyNew bool) (runtime.TerminalSize, bool) {
	for {
		s.mu.Lock()
		size, ok, over := s.mu.size, s.mu.fresh || !onlyNew && s.mu.size != runtime.TerminalSize{}, s.mu.from == 0
		s.mu.fresh = s.mu.fresh && !onlyNew
		s.mu.Unlock()
		if ok || over || s.changed.Wait(ctx) != nil {
			return size, ok
		}
	}
}
