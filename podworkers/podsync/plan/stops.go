package plan

import (
	"maps"
	"time"
)

// Stop is the stop of one container, over all the calls that it takes.
type Stop struct {
	// ID is the ID of the container.
	ID string
	// By is when the grace period is over: the preStop hook, the wait for other containers and the
	// stop share it. It is set once and only moved to an earlier time. Zero: the container is not
	// being stopped.
	By time.Time
	// HookBegun says that the preStop hook has begun. It does not begin again, whether it has
	// succeeded or failed.
	HookBegun bool
	// NotConfirmed says that the container runs although the runtime reported that it has stopped. Its
	// next stop has no grace period.
	NotConfirmed bool
}

// Within returns the stop with a deadline, if that is earlier than By, or if there is none.
func (s Stop) Within(by time.Time) Stop {
	if s.By.IsZero() || by.Before(s.By) {
		s.By = by
	}
	return s
}

// Stop returns the stop of the container with an ID. A stop that has not begun has only the ID.
func (m Memory) Stop(id string) Stop {
	if s, ok := m.stops[id]; ok {
		return s
	}
	return Stop{ID: id}
}

// WithStops notes stops, by their IDs. Decide forgets the stops of containers that it does not stop,
// unless it stops the pod: a later stop of such a container is another one.
func (m Memory) WithStops(stops ...Stop) Memory {
	if len(stops) == 0 {
		return m
	}
	m.stops = maps.Clone(m.stops)
	if m.stops == nil {
		m.stops = make(map[string]Stop, len(stops))
	}
	for _, s := range stops {
		if m.stops[s.ID] = s; s == (Stop{ID: s.ID}) {
			delete(m.stops, s.ID)
		}
	}
	if len(m.stops) == 0 {
		m.stops = nil
	}
	return m
}

// forgetStops forgets the stops of containers that no step of a decision has.
func (m *Memory) forgetStops(steps []Step) {
	if len(m.stops) == 0 {
		return
	}
	wanted := make(map[string]bool, len(steps))
	for i := range steps {
		if steps[i].Op == StopPod {
			return
		}
		wanted[steps[i].ID] = true
	}
	var ended []Stop
	for id, s := range m.stops {
		if !wanted[id] {
			ended = append(ended, Stop{ID: id, NotConfirmed: s.NotConfirmed})
		}
	}
	*m = m.WithStops(ended...)
}
