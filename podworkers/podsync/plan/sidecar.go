package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// decideSidecar decides about a sidecar, which starts whenever it does not run. It returns whether
// the containers after it may start, and the reason to start the sidecar, or "".
func (d *decision) decideSidecar(c *v1.Container, e *containerEntry) (canContinue bool, why Why) {
	if e.runningHere != nil {
		return d.decideRunningSidecar(c, e.runningHere)
	}
	if e.newestHere != nil && e.newestHere.State == runtime.StateUnknown {
		if d.holdReplacement(c, WhyUnknownState) {
			return false, ""
		}
		d.addContainerStop(e.newestHere, WhyUnknownState)
	}
	return false, startReason(e.newestHere)
}

// decideRunningSidecar decides about a running sidecar (CA-10, CA-11). It has started when its
// startup probe has succeeded, or at once without one. The containers after it wait only for that:
// a failed liveness probe or a changed spec of the sidecar does not delay them.
func (d *decision) decideRunningSidecar(c *v1.Container, rec *runtime.ContainerStatus) (canContinue bool, why Why) {
	verdict := d.Probed[rec.ID]
	switch {
	case c.StartupProbe != nil && verdict.Startup == Failure:
		d.stopAfterFailedProbe(rec, c.StartupProbe, WhyStartup)
		return false, WhyStartup
	case c.StartupProbe != nil && verdict.Startup != Success:
		return false, ""
	case hasSpecHashChanged(rec, c) && d.holdReplacement(c, WhySpecChanged):
		return true, ""
	case hasSpecHashChanged(rec, c):
		d.addContainerStop(rec, WhySpecChanged)
		return true, WhySpecChanged
	case verdict.Liveness == Failure:
		d.stopAfterFailedProbe(rec, c.LivenessProbe, WhyLiveness)
		return true, WhyLiveness
	}
	return true, ""
}
