package backoff

import "time"

// The kubelet's numbers, which a zero CrashLoop uses.
const (
	// DefaultCrashLoopInitial is the delay before the second restart.
	DefaultCrashLoopInitial = 10 * time.Second
	// DefaultCrashLoopMax is the longest delay.
	DefaultCrashLoopMax = 300 * time.Second
	// DefaultCrashLoopReset is how long a start counts.
	DefaultCrashLoopReset = 600 * time.Second
)

// CrashLoop is the policy for container restarts. By default a container may start again 0, 10, 20,
// 40, 80, 160, 300, 300 ... seconds after its exit. The exit code does not matter. A field of zero
// or less has its default.
//
// The delay has no jitter. But Retry adds jitter to the sync that follows an error, so a caller
// that syncs by Retry starts the container up to JitterFactor later. Package podsync avoids that:
// it requests a sync exactly at the end of the delay (podworkers.RetryAt). So a status, an event
// and explain can name the time of the next attempt.
//
// A delay starts at the newest exit that the runtime has recorded. If the agent kills a container
// itself, because its liveness probe failed, it starts the next attempt before that exit has a
// record. Then the exit before that counts. Example: a liveness probe fails 15 seconds after each
// start. The restarts at 15 s and 30 s come without a delay, because the delay of 10 s is already
// over. Later restarts wait.
//
// A container without an exited record does not wait; the caller must check that. The caller stores
// Next before each start that Remaining allows.
type CrashLoop struct {
	// Initial is the delay before the second restart. The first restart has no delay. Default
	// DefaultCrashLoopInitial, at most Max.
	Initial time.Duration
	// Max is the longest delay. Default DefaultCrashLoopMax.
	Max time.Duration
	// Reset is how long after the last start the sequence begins again, even if the container has
	// crashed since. Default DefaultCrashLoopReset, which does not depend on Max.
	Reset time.Duration
}

// Remaining returns how long the container must still wait at now; zero if it may start. finishedAt
// is when its newest exited record finished. A record from the future, written by a runtime with
// another clock, counts as finished now at each call, so the wait would never get shorter. The
// caller therefore stores when it first saw such a record, and passes that time instead.
func (c CrashLoop) Remaining(s State, finishedAt, now time.Time) time.Duration {
	return c.exponentialWithDefaults().remainingFrom(s, finishedAt, now)
}

// Next returns the state after a start attempt at now.
func (c CrashLoop) Next(s State, now time.Time) State {
	return c.exponentialWithDefaults().Failed(s, now)
}

// exponentialWithDefaults converts the policy to an Exponential. A field of zero or less gets its default.
func (c CrashLoop) exponentialWithDefaults() Exponential {
	return Exponential{
		Initial: orDefault(c.Initial, DefaultCrashLoopInitial),
		Max:     orDefault(c.Max, DefaultCrashLoopMax),
		Reset:   orDefault(c.Reset, DefaultCrashLoopReset),
	}
}

// The kubelet's numbers, which a zero ImagePull uses.
const (
	// DefaultImagePullInitial is the delay after the first failure.
	DefaultImagePullInitial = 10 * time.Second
	// DefaultImagePullMax is the longest delay.
	DefaultImagePullMax = 300 * time.Second
	// DefaultImagePullReset is how long a failure counts.
	DefaultImagePullReset = 600 * time.Second
)

// ImagePull is the policy for image pulls. By default a pull may be retried 10, 20, 40, 80, 160,
// 300, 300 ... seconds after its last failure. A field of zero or less has its default.
type ImagePull struct {
	// Initial is the delay after the first failure. Default DefaultImagePullInitial, at
	// most Max.
	Initial time.Duration
	// Max is the longest delay. Default DefaultImagePullMax.
	Max time.Duration
	// Reset is how long after the last failure the sequence begins again. Default
	// DefaultImagePullReset, which does not depend on Max.
	Reset time.Duration
}

// Remaining returns how long a pull must still wait at now; zero if it may be tried.
func (p ImagePull) Remaining(s State, now time.Time) time.Duration {
	return p.exponentialWithDefaults().Remaining(s, now)
}

// Failed returns the state after a pull that failed at now. After a success the caller stores a
// zero State, or lets the old one expire.
func (p ImagePull) Failed(s State, now time.Time) State {
	return p.exponentialWithDefaults().Failed(s, now)
}

// exponentialWithDefaults converts the policy to an Exponential. A field of zero or less gets its default.
func (p ImagePull) exponentialWithDefaults() Exponential {
	return Exponential{
		Initial: orDefault(p.Initial, DefaultImagePullInitial),
		Max:     orDefault(p.Max, DefaultImagePullMax),
		Reset:   orDefault(p.Reset, DefaultImagePullReset),
	}
}
