package outbox

import "time"

// repeatPeriod is the least time between two repeats of one pod, as long as between two ticks of
// the kubelet.
const repeatPeriod = 10 * time.Second

// Repeat is what is known of a pod whose status is asked for again.
type Repeat struct {
	Asked    bool      // one is to be made already
	AtOnce   bool      // it does not wait for the one before
	Draining bool      // the sender ends
	Next     time.Time // from when another one may be made
}

// Decide decides whether there is a repeat, when, and from when on another one may be made.
func (r Repeat) Decide(now time.Time) (at, next time.Time, ok bool) {
	waits := r.Next.After(now) && !r.AtOnce
	if r.Asked && !r.AtOnce || waits && r.Draining {
		return time.Time{}, r.Next, false
	}
	if at = now; waits {
		at = r.Next
	}
	return at, at.Add(repeatPeriod), true
}
