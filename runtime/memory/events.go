package memory

import (
	"context"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// stream is one open call of Events.
type stream struct {
	wake    executor.Event
	pending []runtime.Event
	broken  error
}

// Events implements runtime.EventSource: one event per change, those that time
// alone brings included. Any number of streams can be open at a time.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) error {
	_, err := verb(ctx, r, "Events", nothing{}, func(r *Runtime, ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, r.stream(ctx, sink)
	})
	return err
}

func (r *Runtime) stream(ctx context.Context, sink func(runtime.Event)) error {
	m := r.m
	s := &stream{wake: r.executor.NewEvent()}
	if _, err := m.lockReady(); err != nil {
		return err
	}
	m.mu.streams = append(m.mu.streams, s)
	m.unlock()
	defer m.closeStream(s)
	for {
		events, next, err := m.takeEvents(s)
		if err != nil {
			return err
		}
		for _, e := range events {
			sink(e)
		}
		if err := wait(ctx, s.wake, next); err != nil {
			return err
		}
	}
}

// takeEvents takes what has happened, and says when time alone will bring the next change.
func (m *machine) takeEvents(s *stream) ([]runtime.Event, time.Time, error) {
	m.lock()
	defer m.unlock()
	events := s.pending
	s.pending = nil
	var next time.Time
	if len(m.mu.next) > 0 {
		next = m.mu.next[0].next
	}
	return events, next, s.broken
}

func (m *machine) closeStream(s *stream) {
	m.lock()
	defer m.unlock()
	m.mu.streams = slices.DeleteFunc(m.mu.streams, func(o *stream) bool { return o == s })
}
