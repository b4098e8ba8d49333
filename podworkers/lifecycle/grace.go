package lifecycle

import "fmt"

// minGrace is the shortest grace there is: zero and less count as this.
const minGrace = 1

// Grace is an optional number of seconds: unset is not zero.
type Grace struct {
	Seconds int64
	Set     bool
}

// Seconds is a Grace that is set.
func Seconds(n int64) Grace { return Grace{Seconds: n, Set: true} }

// String returns "30s", or "unset".
func (g Grace) String() string {
	if !g.Set {
		return "unset"
	}
	return fmt.Sprintf("%ds", g.Seconds)
}

// effective is g as records hold it: at least minGrace, 0 for unset. No number
// is too large or too small: a table never computes with it.
func (g Grace) effective() int64 {
	if !g.Set {
		return 0
	}
	return max(g.Seconds, minGrace)
}

// limit takes a grace over if it is the first or a shorter one.
func (r *record) limit(seconds int64) {
	switch {
	case r.grace == 0:
		r.grace = seconds
	case seconds != 0:
		r.grace = min(r.grace, seconds)
	}
}

// shorten takes in what an update says about grace, and reports whether that
// is less than what was in force. The deletion's and the kill's word count in
// either order, because the smaller one wins; the content's own word counts
// only if there is no other.
func (r *record) shorten(deletion, kill Grace) bool {
	before := r.grace
	r.limit(deletion.effective())
	r.limit(kill.effective())
	if r.grace == 0 {
		r.limit(max(r.fallback, minGrace))
	}
	if r.grace != before {
		r.implicit = false
	}
	return before != 0 && r.grace != before
}

// override is the grace that a kill asks for. It never gives a pod more than the
// content has for itself (kubernetes/kubernetes#124405).
func (u *Update) override() Grace {
	own := u.Facts.DeletionGrace
	if !own.Set {
		own = u.Facts.SpecGrace
	}
	if u.Kill.Grace.Set && own.Set && own.effective() < u.Kill.Grace.effective() {
		return own
	}
	return u.Kill.Grace
}

// passed is the grace for the syncer: none if it would find the same number in
// the content by itself.
func (r *record) passed() Grace {
	if r.grace == 0 || !r.stage.ending() || r.implicit && r.grace == r.fallback {
		return Grace{}
	}
	return Seconds(r.grace)
}
