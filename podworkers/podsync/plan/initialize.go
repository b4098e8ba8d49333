package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// decideInitContainers decides about the init containers, from the last one to the first, and reports whether
// the pod is initialized. Only containers in the current sandbox count. The last init container that has run
// there shows how far the initialization is; before it only sidecars are checked (CA-8).
func (d *decision) decideInitContainers() (isInitialized bool) {
	all := d.Pod.Spec.InitContainers
	if len(all) == 0 {
		return true
	}
	initialized := d.isKnownInitialized()
	isPassed := initialized
	for i := len(all) - 1; i >= 0 && d.stopPodReason == ""; i-- {
		c, e := &all[i], d.entryAtOrFirstOfSameName(i)
		if !isPassed && e.newestHere == nil {
			continue
		}
		canContinue, why := d.decideInitContainer(c, e, isPassed)
		if canContinue && !isPassed {
			if i == len(all)-1 {
				initialized = true
			} else {
				d.addInitStartUnlessDeleted(i+1, WhyPreviousDone)
			}
		}
		if why != "" {
			d.addInitStartUnlessDeleted(i, why)
		}
		isPassed = true
	}
	if !isPassed {
		d.addInitStartUnlessDeleted(0, WhyNotCreated)
	}
	slices.Reverse(d.init) // Containers start in the order of the spec (CA-14).
	return initialized
}

// isKnownInitialized reports whether the pod is initialized in the current sandbox: the memory says so, or a
// regular container has a record in this sandbox. The published status proves nothing, because it does not name
// the sandbox.
func (d *decision) isKnownInitialized() bool {
	if d.Memory.Initialized == d.sandboxID {
		return true
	}
	for i := range d.Pod.Spec.Containers {
		if d.regularEntry(i).newestHere != nil {
			return true
		}
	}
	return false
}

// decideInitContainer decides about one init container. It may also add a stop step or stop the whole pod.
// isPassed means that the pod is initialized or a later init container has a record in the current sandbox.
// canContinue reports whether the containers after it may start. why is the reason to start this container, or
// "".
func (d *decision) decideInitContainer(c *v1.Container, e *containerEntry, isPassed bool) (canContinue bool, why Why) {
	switch {
	case podspec.IsSidecar(c):
		return d.decideSidecar(c, e)
	case isPassed:
		return true, ""
	}
	return d.decideOrdinaryInit(c, e)
}

// decideOrdinaryInit decides about the ordinary init container (not a sidecar) that the initialization has
// reached. A failure that allows no restart stops the whole pod. canContinue is true after success. why is the
// reason to start the container again, or "".
func (d *decision) decideOrdinaryInit(c *v1.Container, e *containerEntry) (canContinue bool, why Why) {
	rec := e.newestHere
	switch {
	case e.runningHere != nil:
		return false, ""
	case rec.State == runtime.StateCreated:
		return false, WhyNeverStarted
	case rec.State == runtime.StateExited && rec.ExitCode == 0:
		return true, ""
	case !podstatus.MayRestart(d.Pod, c, exitCodeOrUnknown(rec)): // An unknown exit is never a success.
		d.stopPodReason = WhyInitFailed
		return false, ""
	case rec.State == runtime.StateUnknown && d.delayReplacement(c, WhyUnknownState):
		return false, ""
	case rec.State == runtime.StateUnknown:
		d.addContainerStop(rec, WhyUnknownState)
	}
	return false, startReason(rec)
}

// addInitStartUnlessDeleted adds a start step for the init container at a position. It does nothing if the pod
// is being deleted.
func (d *decision) addInitStartUnlessDeleted(i int, why Why) {
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	c := &d.Pod.Spec.InitContainers[i]
	d.init = append(d.init, d.newStart(c, d.entryAtOrFirstOfSameName(i), why))
}
