package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxStrangers is how many unknown pods are inspected at a time because of events.
const maxStrangers = 10

// strangerLimits limits the inspections of strangers. A stranger is a pod that a runtime event
// names and that has no record: no listing, reader or RequestRelist has named it. The first
// inspection makes it an ordinary pod if the pod exists, and otherwise deletes its record. An event
// stream may name any number of strangers: pods of another agent, or pods that do not exist. An
// inspection that finds no pod doubles the pause before the next one, from minBackoff to
// maxBackoff. During the pause, the PLEG makes one listing instead of the inspections; it shows all
// existing pods. The pause is cleared when an inspection finds its pod. It starts at minBackoff
// again after 2*maxBackoff without strangers.
type strangerLimits struct {
	pendingInspections int           // strangers without a successful inspection; those that wait for a retry count
	pause              time.Duration // after the last inspection that found no pod; zero: none
	mayInspectAt       time.Time     // end of the pause: the next stranger may be inspected
	listAt             time.Time     // when a listing for deferred strangers is due; zero: never
}

// mayInspect reports whether one more pod that only a runtime event has named may be inspected now: the pause
// after the last such inspection is over, and fewer than maxStrangers are pending.
func (s *strangerLimits) mayInspect(now time.Time) bool {
	s.mayInspectAt = limitAfterClockStep(s.mayInspectAt, now, s.pause)
	return s.pendingInspections < maxStrangers && !now.Before(s.mayInspectAt)
}

// deferToList schedules an extra listing, because a pod that only a runtime event has named may not be
// inspected now. The listing is due at the end of the pause, or one period later if the pause is over. If one
// is scheduled already, nothing changes.
func (s *strangerLimits) deferToList(now time.Time, period time.Duration) {
	if !s.listAt.IsZero() {
		return
	}
	s.listAt = s.mayInspectAt
	if !now.Before(s.mayInspectAt) {
		s.listAt = now.Add(period)
	}
}

// setPause begins the pause before the next inspection of a pod that only a runtime event has named. found
// reports whether the last such pod exists: then the pause is zero. If it does not exist, the pause doubles up
// to a maximum; after a long time without such inspections it begins with the minimum again.
func (s *strangerLimits) setPause(found bool, now time.Time) {
	switch {
	case found:
		s.pause = 0
	case now.Sub(s.mayInspectAt) >= 2*maxBackoff:
		s.pause = minBackoff
	default:
		s.pause = min(max(2*s.pause, minBackoff), maxBackoff)
	}
	s.mayInspectAt = now.Add(s.pause)
}

// isListDue reports whether the extra listing that deferToList scheduled is due now, and returns its time. The
// time is zero if none is scheduled.
func (s *strangerLimits) isListDue(now time.Time, period time.Duration) (due bool, at time.Time) {
	if s.listAt.IsZero() {
		return false, s.listAt
	}
	s.listAt = limitAfterClockStep(s.listAt, now, max(maxBackoff, period))
	return !now.Before(s.listAt), s.listAt
}

// handleEvent requests an inspection of the pod that a runtime event names. The inspection is delayed if the
// pod has too many events. If the pod is unknown and events have named too many unknown pods, handleEvent
// schedules an extra listing instead.
func (t *table) handleEvent(uid types.UID, now time.Time) {
	r := t.records[uid]
	if r == nil {
		if !t.strangers.mayInspect(now) {
			t.strangers.deferToList(now, t.retryDelay)
			return
		}
		r = t.ensureRecord(uid)
		r.isStranger = true
		t.strangers.pendingInspections++
	}
	t.requestByEvent(r, now)
}

// endStrangerAndSetPause counts a pod that only a runtime event had named as inspected, and sets the pause
// before the next such inspection. found reports whether the pod exists. For other pods it does nothing. A
// failed inspection is repeated, so it is called only after a successful one.
func (t *table) endStrangerAndSetPause(r *record, found bool, now time.Time) {
	if !r.isStranger {
		return
	}
	r.isStranger = false
	t.strangers.pendingInspections--
	t.strangers.setPause(found, now)
}
