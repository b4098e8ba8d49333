package plan

import (
	"maps"
	"time"
)

// Stop is the state of stopping one container, across all the calls that the stop takes.
type Stop struct {
	// ID is the ID of the container.
	ID string
	// By is the end of the grace period. The preStop hook, the wait for other containers and the
	// call to the runtime share this period. Later calls can only move By to an earlier time. Zero:
	// the executor is not stopping the container.
	By time.Time
	// HookBegun: the preStop hook has begun. The executor does not run it again, also after a
	// failure.
	HookBegun bool
	// NotConfirmed: the container runs although the runtime reported it as stopped. The next stop
	// has no grace period.
	NotConfirmed bool
}

// Within returns the stop with By set to by, unless By is earlier already.
func (s Stop) Within(by time.Time) Stop {
	if s.By.IsZero() || by.Before(s.By) {
		s.By = by
	}
	return s
}

// Stop returns the stop state of the container with an ID. If the stop has not begun, only ID is
// set.
func (m Memory) Stop(id string) Stop {
	if s, ok := m.stops[id]; ok {
		return s
	}
	return Stop{ID: id}
}

// WithStops returns a Memory in which the stop states replace the states with the same IDs. If no
// step of a decision stops the container, Decide forgets By and HookBegun, so that a later stop gets
// a new grace period. NotConfirmed stays. Decide keeps all states while it stops the whole pod.
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

// resetStopsExcept clears the deadline and the hook state of each stored container stop that none of the steps
// continues. It keeps NotConfirmed. It does nothing if a step stops the whole pod.
func (m *Memory) resetStopsExcept(steps []Step) {
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
