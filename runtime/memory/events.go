package memory

import (
	"context"
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// eventStream is one open call of Events.
type eventStream struct {
	changed executor.Event
	pending []runtime.Event
	broken  error
}

// Events implements runtime.EventSource. It emits one event per change, also for a change that only
// the passing of time causes, such as an exit. Any number of streams can be open at a time.
func (r *Runtime) Events(ctx context.Context, sink func(runtime.Event)) error {
	_, err := instrumentCall(ctx, r, "Events", nothing{}, func(r *Runtime, ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, r.streamEvents(ctx, sink)
	})
	return err
}

// streamEvents passes the events of containers and sandboxes to sink until ctx ends or the stream breaks, and
// returns the reason.
func (r *Runtime) streamEvents(ctx context.Context, sink func(runtime.Event)) error {
	m := r.m
	s := &eventStream{changed: r.executor.NewEvent()}
	if _, err := m.lockIfReady(); err != nil {
		return err
	}
	m.mu.eventStreams = append(m.mu.eventStreams, s)
	m.unlockAndSignal()
	defer m.removeEventStream(s)
	for {
		events, next, err := m.takePendingEvents(s)
		if err != nil {
			return err
		}
		for _, e := range events {
			sink(e)
		}
		if err := waitForEvent(ctx, s.changed, next); err != nil {
			return err
		}
	}
}

// takePendingEvents removes and returns the pending events of a stream. The returned time is the next scheduled
// state change of any container, or zero if there is none. The error is not nil if the stream is broken.
func (m *machine) takePendingEvents(s *eventStream) (events []runtime.Event, nextChange time.Time, err error) {
	m.lockAndPublish()
	defer m.unlockAndSignal()
	events = s.pending
	s.pending = nil
	var next time.Time
	if len(m.mu.changes) > 0 {
		next = m.mu.changes[0].nextChange
	}
	return events, next, s.broken
}

// removeEventStream unregisters an event stream, so that it gets no further events.
func (m *machine) removeEventStream(s *eventStream) {
	m.lockAndPublish()
	defer m.unlockAndSignal()
	m.mu.eventStreams = slices.DeleteFunc(m.mu.eventStreams, func(o *eventStream) bool { return o == s })
}
