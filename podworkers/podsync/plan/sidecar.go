package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// decideSidecar decides about a sidecar, and may add a stop step. canContinue reports whether the containers
// after it may start. why is the reason to start the sidecar, or "". A sidecar that does not run is started,
// unless its state is unknown and its crash-loop delay is not over.
func (d *decision) decideSidecar(c *v1.Container, e *containerEntry) (canContinue bool, why Why) {
	if e.runningHere != nil {
		return d.decideRunningSidecar(c, e.runningHere)
	}
	if e.newestHere != nil && e.newestHere.State == runtime.StateUnknown {
		if d.delayReplacement(c, WhyUnknownState) {
			return false, ""
		}
		d.addContainerStop(e.newestHere, WhyUnknownState)
	}
	return false, startReason(e.newestHere)
}

// decideRunningSidecar adds a stop step for a running sidecar in three cases: its startup or liveness probe has
// failed, its resize requires a restart, or its name or image has changed and its crash-loop delay is over
// (CA-10, CA-11). why is the reason to start it again, or "" without a stop. canContinue says whether the
// containers after it may start: it is true if the startup probe has succeeded or there is none. A stop for
// another reason does not change canContinue.
func (d *decision) decideRunningSidecar(c *v1.Container, rec *runtime.ContainerStatus) (canContinue bool, why Why) {
	verdict := d.Probed[rec.ID]
	switch {
	case c.StartupProbe != nil && verdict.Startup == Failure:
		d.addStopAfterFailedProbe(rec, c.StartupProbe, WhyStartup)
		return false, WhyStartup
	case c.StartupProbe != nil && verdict.Startup != Success:
		return false, ""
	case hasNameOrImageChanged(rec, c) && d.delayReplacement(c, WhySpecChanged):
		return true, ""
	case hasNameOrImageChanged(rec, c):
		d.addContainerStop(rec, WhySpecChanged)
		return true, WhySpecChanged
	case d.needsRestartToResize(rec, c):
		d.addContainerStop(rec, WhyResize)
		return true, WhyResize
	case verdict.Liveness == Failure:
		d.addStopAfterFailedProbe(rec, c.LivenessProbe, WhyLiveness)
		return true, WhyLiveness
	}
	return true, ""
}
