package workqueue

import (
	"math"
	"time"
)

// Outcome is how a pod's sync ended, as far as the time of its next one is
// concerned.
type Outcome int

// The outcomes of a sync, and the delay that Policy gives each.
const (
	// Succeeded: the pod is synced again after Resync.
	Succeeded Outcome = iota
	// Transitioned: the pod changed its phase and is synced again at once.
	Transitioned
	// Failed: an error of no particular kind; after Backoff.
	Failed
	// FailedTransiently: something that tends to be over soon, as a network
	// that is not ready yet; after Transient.
	FailedTransiently
	// BackedOff: the error says when it makes sense to try again; then.
	BackedOff
)

// String is the name of the outcome.
func (o Outcome) String() string {
	switch o {
	case Succeeded:
		return "succeeded"
	case Transitioned:
		return "transitioned"
	case Failed:
		return "failed"
	case FailedTransiently:
		return "failed transiently"
	case BackedOff:
		return "backed off"
	}
	return "unknown"
}

// The kubelet's numbers, which a zero Policy uses.
const (
	// DefaultResync is the delay after a success.
	DefaultResync = time.Minute
	// DefaultBackoff is the delay after an error.
	DefaultBackoff = 10 * time.Second
	// DefaultTransient is the delay after an error that tends to be over soon.
	DefaultTransient = time.Second
	// DefaultJitterFactor is the largest part of a delay that chance adds.
	DefaultJitterFactor = 0.5
)

// Policy says how long after a sync a pod is synced again. A field of zero
// or less has the kubelet's value, so the zero Policy is the kubelet's. Delays do
// not grow by themselves; see Rising.
type Policy struct {
	// Resync is the delay after a success, and the longest that an error may
	// ask for. Default one minute.
	Resync time.Duration
	// Backoff is the delay after an error. Default ten seconds.
	Backoff time.Duration
	// Transient is the delay after an error that tends to be over soon.
	// Default one second.
	Transient time.Duration
	// JitterFactor is the largest part of a delay that chance adds to it.
	// Default one half.
	JitterFactor float64
}

// Rising is the policy after so many errors in a row that tend to be over soon, apart
// from the last: their delay has doubled as often, up to Backoff. What seems to pass
// soon and does not is asked less and less.
func (p Policy) Rising(before int) Policy {
	if before <= 0 {
		return p
	}
	d := orDefault(p.Transient, DefaultTransient)
	limit := max(d, orDefault(p.Backoff, DefaultBackoff))
	for ; before > 0 && d < limit; before-- {
		d = addSaturated(d, d)
	}
	p.Transient = min(d, limit)
	return p
}

// Delay is how long to wait after a sync that ended in outcome at now. at is
// when a BackedOff sync is to be tried again, and unused otherwise; it is kept
// within [now, now+Resync]. random is a number in [0,1) and decides how much
// is added, from nothing to JitterFactor times the delay; a delay is never
// shortened.
func (p Policy) Delay(outcome Outcome, now, at time.Time, random float64) time.Duration {
	switch outcome {
	case Transitioned:
		return 0
	case Succeeded:
		return p.jitter(p.resync(), random)
	case FailedTransiently:
		return p.jitter(orDefault(p.Transient, DefaultTransient), random)
	case BackedOff:
		return p.jitter(min(max(at.Sub(now), 0), p.resync()), random)
	}
	return p.jitter(orDefault(p.Backoff, DefaultBackoff), random)
}

func (p Policy) resync() time.Duration { return orDefault(p.Resync, DefaultResync) }

// jitter adds to d what chance says.
func (p Policy) jitter(d time.Duration, random float64) time.Duration {
	factor := p.JitterFactor
	if factor <= 0 {
		factor = DefaultJitterFactor
	}
	extra := min(max(random, 0), 1) * factor * float64(d)
	if extra >= math.MaxInt64 {
		return math.MaxInt64
	}
	return addSaturated(d, time.Duration(extra))
}

func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}
