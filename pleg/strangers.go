package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxStrangers is how many unknown pods are inspected at a time because of events.
const maxStrangers = 10

// strangers are the pods of which only events tell: they are in no listing and are not cached.
// Events are believed in nothing, so a stream may name any number of them: another agent's, or
// none at all. An inspection that shows nothing doubles the pause before the next one, from minPause
// to maxPause. What comes within the pause is left to one listing, which shows all pods that there
// are. A pod that was found ends the pause, and so does a time without strangers.
type strangers struct {
	inspecting int           // their inspections, queued, in flight or failed
	pause      time.Duration // after the last one that showed nothing; zero is none
	next       time.Time     // when one may be inspected again
	list       time.Time     // when they are to be listed; zero is never
}

// mayInspect reports whether one more stranger is inspected now.
func (s *strangers) mayInspect(now time.Time) bool {
	s.next = notBeyond(s.next, now, s.pause)
	return s.inspecting < maxStrangers && !now.Before(s.next)
}

// putOff leaves a stranger to the next listing: at the end of the pause, or a period later if too
// many are being inspected.
func (s *strangers) putOff(now time.Time, period time.Duration) {
	if !s.list.IsZero() {
		return
	}
	s.list = s.next
	if !now.Before(s.next) {
		s.list = now.Add(period)
	}
}

// inspected notes what an inspection of a stranger has shown.
func (s *strangers) inspected(found bool, now time.Time) {
	switch {
	case found:
		s.pause = 0
	case now.Sub(s.next) >= 2*maxPause:
		s.pause = minPause
	default:
		s.pause = min(max(2*s.pause, minPause), maxPause)
	}
	s.next = now.Add(s.pause)
}

// listDue reports whether strangers are to be listed now, and otherwise when; zero is never.
func (s *strangers) listDue(now time.Time, period time.Duration) (bool, time.Time) {
	if s.list.IsZero() {
		return false, s.list
	}
	s.list = notBeyond(s.list, now, max(maxPause, period))
	return !now.Before(s.list), s.list
}

// hear takes an event about a pod: which is to be inspected, and nothing else.
func (t *table) hear(uid types.UID, now time.Time) {
	r := t.records[uid]
	if r == nil {
		if !t.strangers.mayInspect(now) {
			t.strangers.putOff(now, t.retryGap)
			return
		}
		r = t.record(uid)
		r.stranger = true
		t.strangers.inspecting++
	}
	t.hint(r, now)
}

// know notes that a stranger was inspected, or is known from a listing. An inspection that has
// failed has shown nothing: it is made again.
func (t *table) know(r *record, found bool, now time.Time) {
	if !r.stranger {
		return
	}
	r.stranger = false
	t.strangers.inspecting--
	t.strangers.inspected(found, now)
}
