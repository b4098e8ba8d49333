package outbox

import "time"

// repeatPeriod is the minimum time between two repeats for one pod, the sync period of the kubelet.
const repeatPeriod = 10 * time.Second

// Repeat has the facts about a pod whose status is requested again.
type Repeat struct {
	Asked    bool      // a repeat is already queued
	AtOnce   bool      // it does not wait for the last one
	Draining bool      // the sender is stopping
	Next     time.Time // the earliest time of another repeat
}

// Decide returns whether and when to send a repeat, and the earliest time of the one after it.
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
