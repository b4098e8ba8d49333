package backoff

import (
	"math"
	"time"
)

// State is what the caller stores between two attempts. The zero State means that there was no
// attempt yet.
type State struct {
	// Delay is the wait before the next attempt.
	Delay time.Duration
	// LastStart is when the last attempt was made. For an attempt that is counted by its failure,
	// it is when the attempt failed.
	LastStart time.Time
}

// Exponential is a delay that doubles with each attempt in a row. It has no defaults: a field of
// zero is zero. Max bounds Initial too.
type Exponential struct {
	// Initial is the first delay.
	Initial time.Duration
	// Max is the longest delay.
	Max time.Duration
	// Reset is how long an attempt counts. If more than that has passed since the last attempt, the
	// delay is Initial again.
	Reset time.Duration
}

// Remaining returns the rest of the delay at now; zero if an attempt may be made.
func (e Exponential) Remaining(s State, now time.Time) time.Duration {
	return e.remainingFrom(s, s.LastStart, now)
}

// Failed returns the state after an attempt that failed at now. After a success the caller stores a
// zero State, or lets the old one expire.
func (e Exponential) Failed(s State, now time.Time) State {
	delay := min(e.Initial, e.Max)
	if s.Delay > 0 && now.Sub(s.LastStart) <= e.Reset {
		delay = min(addSaturated(s.Delay, s.Delay), e.Max)
	}
	return State{Delay: delay, LastStart: now}
}

// remainingFrom returns the rest of the delay at now, counted from the time from instead of the last attempt.
// It returns zero once more than Reset has passed since the last attempt.
func (e Exponential) remainingFrom(s State, from, now time.Time) time.Duration {
	wait := s.Delay - max(now.Sub(from), 0)
	lapse := addSaturated(addSaturated(e.Reset, 1), -max(now.Sub(s.LastStart), -math.MaxInt64))
	return max(min(wait, lapse), 0)
}

// orDefault returns d, or byDefault if d is zero or negative.
func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}

// addSaturated returns a+b, or the largest Duration if the sum would be larger.
func addSaturated(a, b time.Duration) time.Duration {
	return a + min(b, math.MaxInt64-max(a, 0))
}
