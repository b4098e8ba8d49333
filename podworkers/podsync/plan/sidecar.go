package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// sidecar looks at a restartable init container: it is started whenever it does
// not run, whatever its end. It reports whether what comes after it can go on.
func (d *decision) sidecar(c *v1.Container, e *entry) (goesOn bool, why Why) {
	if e.running != nil {
		return d.watch(c, e.running)
	}
	if e.here != nil && e.here.State == runtime.StateUnknown {
		if d.holds(c, WhyUnknownState) {
			return false, ""
		}
		d.kill(e.here, WhyUnknownState)
	}
	return false, whyStart(e.here)
}

// watch looks at a sidecar that runs (CA-10, CA-11). It has started when its
// startup probe says so, and at once if it has none. What comes after it waits
// for that alone: liveness, or a change of its spec, is between it and us.
func (d *decision) watch(c *v1.Container, rec *runtime.ContainerStatus) (goesOn bool, why Why) {
	verdict := d.Probed[rec.ID]
	switch {
	case c.StartupProbe != nil && verdict.Startup == Failure:
		d.killUnwell(rec, c.StartupProbe, WhyStartup)
		return false, WhyStartup
	case c.StartupProbe != nil && verdict.Startup != Success:
		return false, ""
	case hashChanged(rec, c) && d.holds(c, WhySpecChanged):
		return true, ""
	case hashChanged(rec, c):
		d.kill(rec, WhySpecChanged)
		return true, WhySpecChanged
	case verdict.Liveness == Failure:
		d.killUnwell(rec, c.LivenessProbe, WhyLiveness)
		return true, WhyLiveness
	}
	return true, ""
}
