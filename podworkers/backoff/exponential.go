package backoff

import (
	"math"
	"time"
)

// State is what the caller keeps between two attempts at one thing. The zero State means
// that there was no attempt yet.
type State struct {
	// Delay is how long to wait before the next attempt.
	Delay time.Duration
	// LastStart is when the last attempt was made or, for an attempt that is counted by
	// its failure, when it failed.
	LastStart time.Time
}

// Exponential is a delay that doubles with each attempt in a row. It has no defaults: a
// field of zero is zero, and Max bounds Initial too.
type Exponential struct {
	// Initial is the first delay.
	Initial time.Duration
	// Max is the longest delay.
	Max time.Duration
	// Reset is how long an attempt counts for the next one: more than that after the
	// last attempt the delay is Initial again.
	Reset time.Duration
}

// Remaining is how much of the delay is left at now; zero if an attempt may be made.
func (e Exponential) Remaining(s State, now time.Time) time.Duration {
	return e.since(s, s.LastStart, now)
}

// Failed is the state after an attempt that failed at now. After one that succeeded the
// caller keeps a zero State, or lets the old one lapse.
func (e Exponential) Failed(s State, now time.Time) State {
	delay := min(e.Initial, e.Max)
	if s.Delay > 0 && now.Sub(s.LastStart) <= e.Reset {
		delay = min(addSaturated(s.Delay, s.Delay), e.Max)
	}
	return State{Delay: delay, LastStart: now}
}

// since is what is left at now of a delay that counts from a time other than the last
// attempt. The state may lapse sooner than the delay ends: strictly after Reset, hence the
// nanosecond.
func (e Exponential) since(s State, from, now time.Time) time.Duration {
	wait := s.Delay - max(now.Sub(from), 0)
	lapse := addSaturated(addSaturated(e.Reset, 1), -max(now.Sub(s.LastStart), -math.MaxInt64))
	return max(min(wait, lapse), 0)
}

func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}

// addSaturated is a+b, at most what a Duration can hold.
func addSaturated(a, b time.Duration) time.Duration {
	return a + min(b, math.MaxInt64-max(a, 0))
}
