package backoff

import (
	"math"
	"time"
)

// The kubelet's numbers, which a zero Retry uses.
const (
	// DefaultResync is the delay after a success.
	DefaultResync = time.Minute
	// DefaultStable is how many times DefaultResync, or Retry.Resync, passes before a pod is
	// looked at of which nothing has changed. The kubelet makes no difference.
	DefaultStable = 10
	// DefaultBackoff is the delay after an error.
	DefaultBackoff = 10 * time.Second
	// DefaultTransient is the delay after an error that tends to be over soon.
	DefaultTransient = time.Second
	// DefaultJitter is the largest part of a delay that chance adds.
	DefaultJitter = 0.5
)

// Retry says how long after a sync a pod is synced again. A field of zero or less has
// its default. No delay grows with the number of errors; see Rising.
type Retry struct {
	// Resync is the delay after a success, and the longest that an error may
	// ask for. Default DefaultResync.
	Resync time.Duration
	// Stable is the delay after a sync after which the next one has nothing to do unless
	// something changes. It is not below Resync. Default DefaultStable times Resync.
	Stable time.Duration
	// Backoff is the delay after an error. Default DefaultBackoff.
	Backoff time.Duration
	// Transient is the delay after an error that tends to be over soon.
	// Default DefaultTransient.
	Transient time.Duration
	// JitterFactor is the largest part of a delay that chance adds to it.
	// Default DefaultJitter.
	JitterFactor float64
}

// AfterTransients is the policy for a transient error after so many others in a row: their delay
// has doubled as often, up to Backoff. An error that seems transient and stays is tried
// less and less often.
func (r Retry) AfterTransients(before int) Retry {
	d := orDefault(r.Transient, DefaultTransient)
	limit := max(d, orDefault(r.Backoff, DefaultBackoff))
	for range min(before, 63) { // More doublings than a Duration has bits change nothing.
		d = min(addSaturated(d, d), limit)
	}
	r.Transient = d
	return r
}

// Delay is how long to wait after a sync that ended at now. at is the time of the next
// attempt that the error of an Asked or Unavailable sync names, zero if it names none; the
// delay is kept within Resync. random is a number in [0,1): so much of JitterFactor times
// the delay is added.
func (r Retry) Delay(class Class, now, at time.Time, random float64) time.Duration {
	switch {
	case class == Resync:
		return r.jitter(r.resync(), random)
	case class == Stable:
		return r.jitter(r.stable(), random)
	case class == Transient:
		return r.jitter(orDefault(r.Transient, DefaultTransient), random)
	case class == RetryAt, class == Unavailable && !at.IsZero():
		return r.jitter(min(max(at.Sub(now), 0), r.resync()), random)
	}
	return r.jitter(orDefault(r.Backoff, DefaultBackoff), random)
}

func (r Retry) resync() time.Duration { return orDefault(r.Resync, DefaultResync) }

func (r Retry) stable() time.Duration {
	if r.Stable > 0 {
		return max(r.Stable, r.resync())
	}
	if r.resync() > math.MaxInt64/DefaultStable {
		return math.MaxInt64
	}
	return DefaultStable * r.resync()
}

// jitter adds to d what chance says.
func (r Retry) jitter(d time.Duration, random float64) time.Duration {
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
