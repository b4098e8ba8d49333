package pleg

import "time"

// healthyAfter is how long a stream has to stand to count as healthy if no
// event comes.
const healthyAfter = 10 * time.Second

// rhythm knows when the next global listing is due, and how the last ones
// went. The caller holds the lock and gives the time.
type rhythm struct {
	listing   bool
	began     time.Time // the listing in flight
	ended     time.Time // the last one; zero is never
	succeeded time.Time // when the last success began; zero is never
	number    uint64    // of the last success
	err       error     // of the last one

	open   bool      // a stream of events stands
	opened time.Time // since when
	heard  bool      // and an event has come
	mark   uint64    // listings up to this number began before it stood
}

// due reports whether to list now, and otherwise when; zero says that a
// listing is in flight.
func (r *rhythm) due(now time.Time, period, safety time.Duration) (bool, time.Time) {
	if r.listing {
		return false, time.Time{}
	}
	if r.ended.IsZero() {
		r.beginList(now)
		return true, time.Time{}
	}
	if r.streamCovers(now) {
		period = safety
	}
	at := notBeyond(r.ended.Add(period), now, period)
	if now.Before(at) {
		return false, at
	}
	r.beginList(now)
	return true, time.Time{}
}

// notBeyond corrects a time that cannot be later than d from now: the clock
// has been set back since it was computed (I48).
func notBeyond(at, now time.Time, d time.Duration) time.Time {
	if limit := now.Add(d); at.After(limit) {
		return limit
	}
	return at
}

// streamCovers reports whether events make up for listings: the stream is
// healthy, and what happened before it stood has been listed.
func (r *rhythm) streamCovers(now time.Time) bool {
	return r.open && (r.heard || now.Sub(r.opened) >= healthyAfter) && r.err == nil && r.number > r.mark
}

func (r *rhythm) beginList(now time.Time) { r.listing, r.began = true, now }

// listed notes a success. It reports whether the one before had failed.
func (r *rhythm) listed(began, now time.Time, number uint64) (recovered bool) {
	recovered = r.err != nil
	r.listing, r.ended, r.succeeded, r.number, r.err = false, now, began, number, nil
	return recovered
}

// listFailed notes a failure. It reports whether it is the first in a row. A
// nil error is a listing that was cut short, which says nothing.
func (r *rhythm) listFailed(now time.Time, err error) (onset bool) {
	r.listing, r.ended = false, now
	if err == nil {
		return false
	}
	onset = r.err == nil
	r.err = err
	return onset
}
