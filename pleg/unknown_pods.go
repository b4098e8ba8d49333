package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxUnknownPods is how many unknown pods are inspected at a time because of events.
const maxUnknownPods = 10

// unknownPodLimits limits the inspections of unknown pods. An unknown pod is a pod that a runtime
// event names and that has no cache entry: no listing, reader or RequestRelist has named it. The
// first inspection makes it an ordinary pod if the pod exists, and deletes its entry if it does not. An event
// stream may name any number of unknown pods: pods of another agent, or pods that do not exist. An
// inspection that finds no pod doubles the pause before the next one, from minBackoff to
// maxBackoff. During the pause, the PLEG makes one listing instead of the inspections; it shows all
// existing pods. The pause is cleared when an inspection finds its pod. It starts at minBackoff
// again after 2*maxBackoff without unknown pods.
type unknownPodLimits struct {
	pendingInspections int           // unknown pods without a successful inspection; those that wait for a retry count
	pause              time.Duration // after the last inspection that found no pod; zero: none
	pauseEnds          time.Time     // end of the pause: the next unknown pod may be inspected
	listAt             time.Time     // when a listing for deferred unknown pods is due; zero: never
}

// mayInspectUnknownPod reports whether one more unknown pod (named by a runtime event only) may be inspected
// now: the pause after the last such inspection is over, and fewer than maxUnknownPods are pending.
func (s *unknownPodLimits) mayInspectUnknownPod(now time.Time) bool {
	s.pauseEnds = limitAfterClockStep(s.pauseEnds, now, s.pause)
	return s.pendingInspections < maxUnknownPods && !now.Before(s.pauseEnds)
}

// scheduleExtraList schedules an extra listing, because an unknown pod (named by a runtime event only) may not
// be inspected now. The listing is due at the end of the pause, or one period later if the pause is over. If
// one is scheduled already, nothing changes.
func (s *unknownPodLimits) scheduleExtraList(now time.Time, period time.Duration) {
	if !s.listAt.IsZero() {
		return
	}
	s.listAt = s.pauseEnds
	if !now.Before(s.pauseEnds) {
		s.listAt = now.Add(period)
	}
}

// setPauseAfterInspection begins the pause before the next inspection of an unknown pod (named by a runtime
// event only). found reports whether the last such pod exists: then the pause is zero. If it does not exist,
// the pause doubles up to a maximum; after a long time without such inspections it begins with the minimum
// again.
func (s *unknownPodLimits) setPauseAfterInspection(found bool, now time.Time) {
	switch {
	case found:
		s.pause = 0
	case now.Sub(s.pauseEnds) >= 2*maxBackoff:
		s.pause = minBackoff
	default:
		s.pause = min(max(2*s.pause, minBackoff), maxBackoff)
	}
	s.pauseEnds = now.Add(s.pause)
}

// isExtraListDue reports whether the listing that scheduleExtraList scheduled is due now, and returns its time.
// The time is zero if none is scheduled.
func (s *unknownPodLimits) isExtraListDue(now time.Time, period time.Duration) (due bool, at time.Time) {
	if s.listAt.IsZero() {
		return false, s.listAt
	}
	s.listAt = limitAfterClockStep(s.listAt, now, max(maxBackoff, period))
	return !now.Before(s.listAt), s.listAt
}

// requestInspectionOrExtraList requests an inspection of the pod that a runtime event names. The inspection
// is delayed if the pod has too many events. If the pod is unknown and events have named too many unknown pods,
// requestInspectionOrExtraList schedules an extra listing instead.
func (t *table) requestInspectionOrExtraList(uid types.UID, now time.Time) {
	r := t.records[uid]
	if r == nil {
		if !t.unknownPods.mayInspectUnknownPod(now) {
			t.unknownPods.scheduleExtraList(now, t.retryDelay)
			return
		}
		r = t.ensureRecord(uid)
		r.isUnknownPod = true
		t.unknownPods.pendingInspections++
	}
	t.requestByEventRateLimited(r, now)
}

// recordUnknownPodInspected records the inspection of a pod that only a runtime event had named, and sets the
// pause before the next such inspection. found says whether the runtime has the pod. For any other pod it does
// nothing. The caller calls it only after a successful inspection, because a failed one is repeated.
func (t *table) recordUnknownPodInspected(r *record, found bool, now time.Time) {
	if !r.isUnknownPod {
		return
	}
	r.isUnknownPod = false
	t.unknownPods.pendingInspections--
	t.unknownPods.setPauseAfterInspection(found, now)
}
