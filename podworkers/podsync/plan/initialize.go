package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// initialize looks at the init containers, from the last one, and reports
// whether the pod is initialized. Only records of the current sandbox count:
// what ran before a reboot has initialized something that is gone. The first
// that has a record is where the pod stands; of those before it, as of all once
// the pod is initialized, only sidecars matter (CA-8).
func (d *decision) initialize() bool {
	all := d.Pod.Spec.InitContainers
	if len(all) == 0 {
		return true
	}
	initialized := d.wasInitialized()
	passed := initialized
	for i := len(all) - 1; i >= 0 && d.killPod == ""; i-- {
		c, e := &all[i], d.at(i)
		if !passed && e.here == nil {
			continue
		}
		goesOn, why := d.decideInit(c, e, passed)
		if goesOn && !passed {
			if i == len(all)-1 {
				initialized = true
			} else {
				d.startInit(i+1, WhyPreviousDone)
			}
		}
		if why != "" {
			d.startInit(i, why)
		}
		passed = true
	}
	if !passed {
		d.startInit(0, WhyNotCreated)
	}
	slices.Reverse(d.init) // They are started in the order of the spec (CA-14).
	return initialized
}

// wasInitialized reports whether the pod is known to have been initialized in
// the current sandbox: it is remembered, or a regular container has a record
// there. That it exited since does not matter, because the record says which
// sandbox it belongs to. Nothing else proves it, least of all what was
// published, which does not say of which sandbox it speaks.
func (d *decision) wasInitialized() bool {
	if d.Memory.Initialized == d.sandboxID {
		return true
	}
	for i := range d.Pod.Spec.Containers {
		if d.ofRegular(i).here != nil {
			return true
		}
	}
	return false
}

// decideInit decides about one init container. It returns whether the containers after it may start, and why
// the container has to be started, or "".
func (d *decision) decideInit(c *v1.Container, e *entry, passed bool) (goesOn bool, why Why) {
	switch {
	case podspec.IsSidecar(c):
		return d.sidecar(c, e)
	case passed:
		return true, ""
	}
	return d.decideOrdinaryInit(c, e)
}

// decideOrdinaryInit decides about the ordinary init container that the initialization has reached.
func (d *decision) decideOrdinaryInit(c *v1.Container, e *entry) (goesOn bool, why Why) {
	rec := e.here
	switch {
	case e.running != nil:
		return false, ""
	case rec.State == runtime.StateCreated:
		return false, WhyNeverStarted
	case rec.State == runtime.StateExited && rec.ExitCode == 0:
		return true, ""
	case !podstatus.MayRestart(d.Pod, c, lastCode(rec)): // An unknown end is never a success.
		d.killPod = WhyInitFailed
		return false, ""
	case rec.State == runtime.StateUnknown && d.holds(c, WhyUnknownState):
		return false, ""
	case rec.State == runtime.StateUnknown:
		d.kill(rec, WhyUnknownState)
	}
	return false, whyStart(rec)
}

// startInit adds an init container to those that are started.
func (d *decision) startInit(i int, why Why) {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	c := &d.Pod.Spec.InitContainers[i]
	d.init = append(d.init, d.start(c, d.at(i), why))
}
