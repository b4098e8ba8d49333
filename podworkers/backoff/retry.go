package backoff

import (
	"math"
	"time"
)

// The kubelet's numbers, which a zero Retry uses.
const (
	// DefaultResync is the delay after a success.
	DefaultResync = time.Minute
	// DefaultStable is the delay after the sync of a stable pod, as a multiple of the resync delay.
	// The kubelet has no such delay.
	DefaultStable = 10
	// DefaultBackoff is the delay after an error.
	DefaultBackoff = 10 * time.Second
	// DefaultTransient is the delay after an error that should be over soon.
	DefaultTransient = time.Second
	// DefaultJitter is the largest jitter, as a fraction of the delay.
	DefaultJitter = 0.5
)

// Retry has the delays after which a pod is synced again. A field of zero or less has its default.
// No delay grows with the number of errors; see AfterTransients.
type Retry struct {
	// Resync is the delay after a success, and the longest delay that an error may request. Default
	// DefaultResync.
	Resync time.Duration
	// Stable is the delay after a sync if the next one has nothing to do until something changes.
	// It is not below Resync. Default DefaultStable times Resync.
	Stable time.Duration
	// Backoff is the delay after an error. Default DefaultBackoff.
	Backoff time.Duration
	// Transient is the delay after an error that should be over soon. Default DefaultTransient.
	Transient time.Duration
	// JitterFactor is the largest jitter, as a fraction of the delay. Default DefaultJitter.
	JitterFactor float64
}

// AfterTransients returns the policy after a number of earlier transient errors in a row. The
// transient delay doubles with each of them, up to Backoff.
func (r Retry) AfterTransients(before int) Retry {
	d := orDefault(r.Transient, DefaultTransient)
	limit := max(d, orDefault(r.Backoff, DefaultBackoff))
	for range min(before, 63) { // A Duration cannot be doubled more often than that.
		d = min(addSaturated(d, d), limit)
	}
	r.Transient = d
	return r
}

// Delay returns how long to wait after a call that ended at now. at is the time of the next attempt
// that the error names, for the classes RetryAt and Unavailable; zero if it names none. The delay
// until at is limited to Resync. random is a number in [0,1); random * JitterFactor * delay is
// added.
func (r Retry) Delay(class Class, now, at time.Time, random float64) time.Duration {
	switch {
	case class == Resync:
		return r.addJitter(r.resyncDelay(), random)
	case class == Stable:
		return r.addJitter(r.stableDelay(), random)
	case class == Transient:
		return r.addJitter(orDefault(r.Transient, DefaultTransient), random)
	case class == RetryAt, class == Unavailable && !at.IsZero():
		return r.addJitter(min(max(at.Sub(now), 0), r.resyncDelay()), random)
	}
	return r.addJitter(orDefault(r.Backoff, DefaultBackoff), random)
}

// resyncDelay returns Resync, or DefaultResync if Resync is not positive.
func (r Retry) resyncDelay() time.Duration { return orDefault(r.Resync, DefaultResync) }

// stableDelay returns Stable, but at least the resync delay. If Stable is not positive, it returns
// DefaultStable times the resync delay.
func (r Retry) stableDelay() time.Duration {
	if r.Stable > 0 {
		return max(r.Stable, r.resyncDelay())
	}
	if r.resyncDelay() > math.MaxInt64/DefaultStable {
		return math.MaxInt64
	}
	return DefaultStable * r.resyncDelay()
}

// addJitter returns d made longer by random times the jitter factor times d. random is limited to the range
// from 0 to 1.
func (r Retry) addJitter(d time.Duration, random float64) time.Duration {
	factor := r.JitterFactor
	if factor <= 0 {
		factor = DefaultJitter
	}
	extra := min(max(random, 0), 1) * factor * float64(d)
	if extra >= math.MaxInt64 {
		return math.MaxInt64
	}
	return addSaturated(d, time.Duration(extra))
}
