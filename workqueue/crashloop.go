package workqueue

import "time"

// The kubelet's numbers, which zero values of CrashLoop and ImagePull use.
const (
	// DefaultBackoffInitial is the first delay.
	DefaultBackoffInitial = 10 * time.Second
	// DefaultBackoffMax is the longest delay.
	DefaultBackoffMax = 300 * time.Second
	// DefaultBackoffReset is how long an attempt counts for the next one.
	DefaultBackoffReset = 600 * time.Second
)

// Backoff is what is remembered between two attempts at one thing: a container
// of a pod, or an image for a pod. The zero value means that there was no
// attempt yet. It is a small value that its owner stores.
type Backoff struct {
	// Delay is how long to wait after the last end, or the last failure.
	Delay time.Duration
	// LastStart is when the last attempt was made.
	LastStart time.Time
}

// CrashLoop says how long after its end a container may start again: 0, 10, 20,
// 40, 80, 160, 300, 300 ... seconds by default. There is no jitter, and it does
// not matter how the container ended.
//
// A container without an exited record is not in backoff; that is for the
// caller to see. Before each start that Remaining allows, Next is stored.
type CrashLoop struct {
	// Initial is the delay before the second restart; the first comes without.
	// Default ten seconds, at most Max.
	Initial time.Duration
	// Max is what the delay doubles up to. Default five minutes.
	Max time.Duration
	// Reset is how long after the last start attempt the sequence begins
	// again, whether the container has crashed since or not. Default ten
	// minutes, independent of Max.
	Reset time.Duration
}

// Remaining is how long the container must still wait at now, given when its
// newest exited record finished; zero if it may start. A record from the
// future, as a runtime with another clock writes it, counts as one of now at each
// call, so the wait does not get shorter: who asks again remembers when it first
// saw the record, and gives that.
func (c CrashLoop) Remaining(b Backoff, finishedAt, now time.Time) time.Duration {
	wait := b.Delay - max(now.Sub(finishedAt), 0)
	// The sequence may begin again sooner than the delay ends. It does so
	// strictly after Reset, hence the nanosecond.
	reset := addSaturated(c.reset()-now.Sub(b.LastStart), 1)
	return max(min(wait, reset), 0)
}

// Next is the state after a start attempt at now.
func (c CrashLoop) Next(b Backoff, now time.Time) Backoff {
	delay := c.initial()
	if !c.over(b, now) {
		delay = min(addSaturated(b.Delay, b.Delay), c.max())
	}
	return Backoff{Delay: delay, LastStart: now}
}

// over reports whether the sequence begins again. The last end needs no look:
// an end later than Reset after the last start is now more than that ago.
func (c CrashLoop) over(b Backoff, now time.Time) bool {
	return b.Delay <= 0 || now.Sub(b.LastStart) > c.reset()
}

func (c CrashLoop) initial() time.Duration {
	return min(orDefault(c.Initial, DefaultBackoffInitial), c.max())
}

func (c CrashLoop) max() time.Duration { return orDefault(c.Max, DefaultBackoffMax) }

func (c CrashLoop) reset() time.Duration { return orDefault(c.Reset, DefaultBackoffReset) }

// ImagePull says how long after its last failure a pull may be tried again: 10,
// 20, 40, 80, 160, 300, 300 ... seconds by default. The fields mean what they
// mean in CrashLoop, with a failed pull in place of an end.
type ImagePull CrashLoop

// Remaining is how long a pull must still wait at now; zero if it may be tried.
func (p ImagePull) Remaining(b Backoff, now time.Time) time.Duration {
	return CrashLoop(p).Remaining(b, b.LastStart, now)
}

// Failed is the state after a pull that failed at now. After a pull that
// succeeded the owner forgets the state or lets it lapse, as it likes.
func (p ImagePull) Failed(b Backoff, now time.Time) Backoff {
	return CrashLoop(p).Next(b, now)
}
