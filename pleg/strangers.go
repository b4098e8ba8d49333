package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxStrangers is how many unknown pods are inspected at a time because of events.
const maxStrangers = 10

// strangers are pods that only events name: no listing has them, and they are not cached. A stream
// of events may name any number of them: pods of another agent, or pods that do not exist. An
// inspection that shows nothing doubles the pause before the next one, from minPause to maxPause.
// Strangers that events name within the pause are left to one listing, which shows all existing
// pods. An inspection that finds its pod ends the pause. A time without strangers ends it too.
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

// deferToList leaves a stranger to the next listing: at the end of the pause, or a period later if too
// many are being inspected.
func (s *strangers) deferToList(now time.Time, period time.Duration) {
	if !s.list.IsZero() {
		return
	}
	s.list = s.next
	if !now.Before(s.next) {
		s.list = now.Add(period)
	}
}

// recordResult sets the pause after an inspection of a stranger.
func (s *strangers) recordResult(found bool, now time.Time) {
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

// isListDue reports whether a listing of strangers is due now, and otherwise returns its time; zero
// stands for never.
func (s *strangers) isListDue(now time.Time, period time.Duration) (bool, time.Time) {
	if s.list.IsZero() {
		return false, s.list
	}
	s.list = notBeyond(s.list, now, max(maxPause, period))
	return !now.Before(s.list), s.list
}

// handleEvent marks the pod of an event for inspection. Nothing else of the event counts.
func (t *table) handleEvent(uid types.UID, now time.Time) {
	r := t.records[uid]
	if r == nil {
		if !t.strangers.mayInspect(now) {
			t.strangers.deferToList(now, t.retryGap)
			return
		}
		r = t.record(uid)
		r.stranger = true
		t.strangers.inspecting++
	}
	t.hint(r, now)
}

// recordInspection ends the state of a stranger after its inspection, or after a listing that shows
// it. An inspection that has failed does not count: it is made again.
func (t *table) recordInspection(r *record, found bool, now time.Time) {
	if !r.stranger {
		return
	}
	r.stranger = false
	t.strangers.inspecting--
	t.strangers.recordResult(found, now)
}
