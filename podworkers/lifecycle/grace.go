package lifecycle

import (
	"fmt"
	"time"

	"github.com/podkeel/podkeel/internal/podspec"
)

// minGrace is the shortest effective grace period of a pod in seconds: zero and less count as this.
const minGrace = 1

// Grace is an optional number of seconds. Unset is different from zero.
type Grace struct {
	Seconds int64
	Set     bool
}

// Seconds returns a Grace of n seconds.
func Seconds(n int64) Grace { return Grace{Seconds: n, Set: true} }

// GraceFromAPI converts a grace period from the form of the Kubernetes API. nil is unset.
func GraceFromAPI(seconds *int64) Grace {
	if seconds == nil {
		return Grace{}
	}
	return Seconds(*seconds)
}

// ToAPI converts the grace period to the form of the Kubernetes API. It returns nil for unset.
func (g Grace) ToAPI() *int64 {
	if !g.Set {
		return nil
	}
	return &g.Seconds
}

// Duration returns the grace period as a runtime needs it. Unset and negative numbers are 0. A number that
// is too large becomes a duration of 73 years.
func (g Grace) Duration() time.Duration { return podspec.SecondsToDuration(g.Seconds) }

// String returns "30s", or "unset".
func (g Grace) String() string {
	if !g.Set {
		return "unset"
	}
	return fmt.Sprintf("%ds", g.Seconds)
}

// Or returns g if it is set, and next otherwise.
func (g Grace) Or(next Grace) Grace {
	if g.Set {
		return g
	}
	return next
}

// Min returns the shorter of two grace periods. If one is unset it returns the other.
func (g Grace) Min(other Grace) Grace {
	if !g.Set || other.Set && other.Seconds < g.Seconds {
		return other
	}
	return g
}

// withMinimum returns the grace period, raised to minGrace (one second) if it is shorter. An unset one stays unset.
func (g Grace) withMinimum() Grace {
	if g.Set {
		g.Seconds = max(g.Seconds, minGrace)
	}
	return g
}

// ContainerGrace are the grace periods that can apply to the stop of one container. Each may be unset.
type ContainerGrace struct {
	// Override is Work.Grace of the termination of the pod.
	Override Grace
	// Deletion is the grace period of the deletion of the pod.
	Deletion Grace
	// Container is for this container only: the grace period of its failed liveness or startup probe, or
	// zero seconds if all containers of the pod restart.
	Container Grace
	// Spec is the grace period of the spec of the pod.
	Spec Grace
	// Default applies if all others are unset.
	Default Grace
}

// Effective returns the first grace period that is set, in the order of the fields.
func (c ContainerGrace) Effective() Grace {
	return c.Override.Or(c.Deletion).Or(c.Container).Or(c.Spec).Or(c.Default)
}

// ownGrace returns the pod's grace period without a kill: DeletionGrace or, if it is unset, SpecGrace, with at
// least one second. It is unset if both are unset.
func (f *Facts) ownGrace() Grace { return f.DeletionGrace.Or(f.SpecGrace).withMinimum() }

// killGraceWithinPodGrace returns the grace period in the Kill of an update. It is at least one second, and at
// most the grace period of the update's pod object (kubernetes/kubernetes#124405). It is unset if the Kill has
// no grace period. An update with only a RuntimePod has no pod object and no upper limit.
func (u *Update) killGraceWithinPodGrace() Grace {
	if !u.Kill.Grace.Set {
		return Grace{}
	}
	return u.Kill.Grace.withMinimum().Min(u.Facts.ownGrace())
}

// contentGrace returns the grace period of the pod object that r has, or one second if r has none.
func (r *record) contentGrace() Grace { return Seconds(r.contentSeconds).withMinimum() }

// shortenGrace shortens r's effective grace period to the requested one, and returns true if it became shorter.
// A longer or unset request changes nothing. Before there is an effective grace period, the requested one
// becomes effective. If that is unset, the pod object's own grace period becomes effective. The result is false
// in both cases.
func (r *record) shortenGrace(requested Grace) (shortened bool) {
	before := r.grace
	r.grace = before.Min(requested.withMinimum()).Or(r.contentGrace())
	if r.grace != before {
		r.graceFromContent = false
	}
	return before.Set && r.grace != before
}

// graceForSyncer returns the grace period to pass to the syncer. It is unset if the pod is not terminating, and
// for a pod that completed by itself: the syncer then uses the pod object's own. After a kill, and for an
// orphan, it is set even if it equals the pod object's own.
func (r *record) graceForSyncer() Grace {
	if !r.stage.isTerminating() || r.graceFromContent && r.grace == r.contentGrace() {
		return Grace{}
	}
	return r.grace
}
