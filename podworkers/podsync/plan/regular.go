package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// fate is what becomes of a container.
type fate uint8

const (
	over  fate = iota // does not run, and is not to be started
	dying             // runs, and is ended for good
	alive             // runs and is kept, or is to be started
)

// regular looks at the regular containers of an initialized pod. What remains of
// the pod when the last of them is over ends with it; until then no sidecar is
// started for the sake of one that is ended (CA-20).
func (d *decision) regular() {
	best := over
	for i := range d.Pod.Spec.Containers {
		best = max(best, d.one(i))
	}
	switch best {
	case over:
		d.killPod = WhyNothingToRun
	case dying:
		d.init = nil
	}
}

// one looks at one regular container.
func (d *decision) one(i int) fate {
	c, e := &d.Pod.Spec.Containers[i], d.ofRegular(i)
	if e.running != nil {
		return d.keep(i, c, e.running)
	}
	rec := e.newest
	if rec != nil && rec.State == runtime.StateRunning {
		return alive // Not here: it is a stray, and started when it has ended.
	}
	if d.Pod.DeletionTimestamp != nil || d.done(c, e) {
		return over
	}
	if rec != nil && rec.State == runtime.StateUnknown {
		if d.holds(c, WhyUnknownState) {
			return alive
		}
		d.kill(rec, WhyUnknownState)
		if !podstatus.MayRestart(d.Pod, c, exitUnknown) {
			return dying // Nobody knows that it has not run, and it does so once.
		}
	}
	d.startRegular(i, whyStart(rec))
	return alive
}

// keep looks at a container that runs, and ends it if its spec has changed or if
// a probe has failed (CA-17). Only policies decide whether it is started again
// then: a rule is about an exit code, which a signal from us is not. Readiness
// is no reason (CA-19).
func (d *decision) keep(i int, c *v1.Container, rec *runtime.ContainerStatus) fate {
	verdict := d.Probed[rec.ID]
	why, again := WhySpecChanged, true
	switch {
	case hashChanged(rec, c):
		if d.holds(c, why) {
			return alive
		}
		d.kill(rec, why)
	case verdict.Liveness == Failure:
		why, again = WhyLiveness, policyOf(d.Pod, c) != v1.RestartPolicyNever
		d.killUnwell(rec, c.LivenessProbe, why)
	case verdict.Startup == Failure:
		why, again = WhyStartup, policyOf(d.Pod, c) != v1.RestartPolicyNever
		d.killUnwell(rec, c.StartupProbe, why)
	default:
		return alive
	}
	if !again || d.Pod.DeletionTimestamp != nil {
		return dying
	}
	d.startRegular(i, why)
	return alive
}

// whyStart is why a container that does not run is started.
func whyStart(rec *runtime.ContainerStatus) Why {
	if rec == nil {
		return WhyNotCreated
	}
	switch rec.State {
	case runtime.StateCreated:
		return WhyNeverStarted
	case runtime.StateExited:
		return WhyExited
	}
	return WhyUnknownState
}

// ofRegular is what the records tell of a regular container.
func (d *decision) ofRegular(i int) *entry { return d.at(len(d.Pod.Spec.InitContainers) + i) }

// startRegular adds a regular container to those that are started.
func (d *decision) startRegular(i int, why Why) {
	d.containers = append(d.containers, d.start(&d.Pod.Spec.Containers[i], d.ofRegular(i), why))
}
