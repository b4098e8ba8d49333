package backoff

import "time"

// The kubelet's numbers, which a zero CrashLoop uses.
const (
	// DefaultCrashLoopInitial is the delay before the second restart.
	DefaultCrashLoopInitial = 10 * time.Second
	// DefaultCrashLoopMax is the longest delay.
	DefaultCrashLoopMax = 300 * time.Second
	// DefaultCrashLoopReset is how long a start counts for the next one.
	DefaultCrashLoopReset = 600 * time.Second
)

// CrashLoop says how long after its end a container may start again: 0, 10, 20,
// 40, 80, 160, 300, 300 ... seconds by default. It does not matter how the container ended.
// A field of zero or less has its default.
//
// The delay has no jitter. Retry adds jitter to the time of the sync that follows an error,
// so a caller that syncs by Retry starts the container up to JitterFactor later. Package
// podsync asks for a sync at the end of the delay exactly (podworkers.RetryAt), and so a status,
// an event and explain name the time of the next try.
//
// A delay counts from an end that is over. An agent that ends a container itself, since its
// liveness probe failed, starts the next attempt before the end has a record: what counts
// is the end before that one. With a liveness probe that fails 15 seconds after each start,
// restarts come at 15 s and 30 s without a delay. The delay of 10 s was over by then. Later
// ones wait.
//
// A container without an exited record does not wait; that is for the caller to see.
// Before each start that Remaining allows, the caller stores Next.
type CrashLoop struct {
	// Initial is the delay before the second restart; the first comes without.
	// Default DefaultCrashLoopInitial, at most Max.
	Initial time.Duration
	// Max is what the delay doubles up to. Default DefaultCrashLoopMax.
	Max time.Duration
	// Reset is how long after the last start the sequence begins again, whether the
	// container has crashed since or not. Default DefaultCrashLoopReset, whatever Max is.
	Reset time.Duration
}

// Remaining is how long the container must still wait at now, given when its
// newest exited record finished; zero if it may start. A record from the future, as a
// runtime with another clock writes it, counts as one of now at each call, so that the
// wait does not get shorter: the caller remembers when it first saw such a record, and
// gives that time instead.
func (c CrashLoop) Remaining(s State, finishedAt, now time.Time) time.Duration {
	return c.rule().since(s, finishedAt, now)
}

// Next is the state after a start attempt at now.
func (c CrashLoop) Next(s State, now time.Time) State { return c.rule().Failed(s, now) }

func (c CrashLoop) rule() Exponential {
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
	// DefaultImagePullReset is how long a failure counts for the next one.
	DefaultImagePullReset = 600 * time.Second
)

// ImagePull says how long after its last failure a pull may be tried again: 10,
// 20, 40, 80, 160, 300, 300 ... seconds by default. A field of zero or less has its
// default.
type ImagePull struct {
	// Initial is the delay after the first failure. Default DefaultImagePullInitial, at
	// most Max.
	Initial time.Duration
	// Max is what the delay doubles up to. Default DefaultImagePullMax.
	Max time.Duration
	// Reset is how long after the last failure the sequence begins again. Default
	// DefaultImagePullReset, whatever Max is.
	Reset time.Duration
}

// Remaining is how long a pull must still wait at now; zero if it may be tried.
func (p ImagePull) Remaining(s State, now time.Time) time.Duration {
	return p.rule().Remaining(s, now)
}

// Failed is the state after a pull that failed at now. After one that succeeded the caller
// keeps a zero State, or lets the old one lapse.
func (p ImagePull) Failed(s State, now time.Time) State { return p.rule().Failed(s, now) }

func (p ImagePull) rule() Exponential {
	return Exponential{
		Initial: orDefault(p.Initial, DefaultImagePullInitial),
		Max:     orDefault(p.Max, DefaultImagePullMax),
		Reset:   orDefault(p.Reset, DefaultImagePullReset),
	}
}
