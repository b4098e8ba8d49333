package lifecycle

import "fmt"

// minGrace is the shortest grace period: zero and less count as this.
const minGrace = 1

// Grace is an optional number of seconds. Unset is different from zero.
type Grace struct {
	Seconds int64
	Set     bool
}

// Seconds returns a Grace of n seconds.
func Seconds(n int64) Grace { return Grace{Seconds: n, Set: true} }

// String returns "30s", or "unset".
func (g Grace) String() string {
	if !g.Set {
		return "unset"
	}
	return fmt.Sprintf("%ds", g.Seconds)
}

// clampedSeconds returns the seconds as a record stores them: at least minGrace, and 0 for unset.
// The table never computes with the number, so it cannot overflow.
func (g Grace) clampedSeconds() int64 {
	if !g.Set {
		return 0
	}
	return max(g.Seconds, minGrace)
}

// shortenTo sets the effective grace period if it is unset or longer than seconds. Zero seconds
// change nothing.
func (r *record) shortenTo(seconds int64) {
	switch {
	case r.grace == 0:
		r.grace = seconds
	case seconds != 0:
		r.grace = min(r.grace, seconds)
	}
}

// applyGrace applies the grace periods of a deletion and of a kill, and reports whether the
// effective grace period became shorter. The smaller of the two wins, so their order makes no
// difference. If neither is set and there is no earlier one, the content's own grace period is
// used. It does not limit the two here; killGrace has limited the grace period of the kill.
func (r *record) applyGrace(deletion, killOverride Grace) (shortened bool) {
	before := r.grace
	r.shortenTo(deletion.clampedSeconds())
	r.shortenTo(killOverride.clampedSeconds())
	if r.grace == 0 {
		r.shortenTo(max(r.contentGrace, minGrace))
	}
	if r.grace != before {
		r.graceFromContent = false
	}
	return before != 0 && r.grace != before
}

// killGrace returns the grace period that the kill requests. It is never longer than the grace
// period in the update's facts: DeletionGrace or, if it is unset, SpecGrace
// (kubernetes/kubernetes#124405). The update of a RuntimePod has no facts and thus no limit.
func (u *Update) killGrace() Grace {
	own := u.Facts.DeletionGrace
	if !own.Set {
		own = u.Facts.SpecGrace
	}
	if u.Kill.Grace.Set && own.Set && own.clampedSeconds() < u.Kill.Grace.clampedSeconds() {
		return own
	}
	return u.Kill.Grace
}

// graceForSyncer returns the grace period to pass to the syncer. It is unset if the pod has
// completed by itself, because the syncer then uses the pod object's own. After a kill, and for an
// orphan, it is set even if it is equal to the pod object's own.
func (r *record) graceForSyncer() Grace {
	if r.grace == 0 || !r.stage.isTerminating() || r.graceFromContent && r.grace == r.contentGrace {
		return Grace{}
	}
	return Seconds(r.grace)
}
