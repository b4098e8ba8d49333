package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// regularOutcome is the result of a decision about one regular container.
type regularOutcome uint8

const (
	outcomeStopped  regularOutcome = iota // does not run and is not started
	outcomeStopping                       // is stopped and not started again
	outcomeAlive                          // keeps running, or is started
)

// decideRegularContainers decides about the regular containers of an initialized pod. If none runs or will run,
// it stops the whole pod. If the last ones are stopping, it removes the starts of init containers from the
// decision, so that no sidecar starts (CA-20).
func (d *decision) decideRegularContainers() {
	best := outcomeStopped
	for i := range d.Pod.Spec.Containers {
		best = max(best, d.decideRegularContainer(i))
	}
	switch best {
	case outcomeStopped:
		d.stopPodReason = WhyNothingToRun
	case outcomeStopping:
		d.init = nil
	}
}

// decideRegularContainer decides about the regular container at a position. It adds a stop step, a start step
// or both, and returns whether the container runs or will run, is stopping, or has stopped for good.
func (d *decision) decideRegularContainer(i int) regularOutcome {
	c, e := &d.Pod.Spec.Containers[i], d.regularEntry(i)
	if e.runningHere != nil {
		return d.decideRunningContainer(i, c, e.runningHere)
	}
	rec := e.newest
	if rec != nil && rec.State == runtime.StateRunning {
		return outcomeAlive // In another sandbox: it starts again after addStrayContainerStops has stopped it.
	}
	if d.Pod.DeletionTimestamp != nil || d.isDone(c, e) {
		return outcomeStopped
	}
	if rec != nil && rec.State == runtime.StateUnknown {
		if d.delayReplacement(c, WhyUnknownState) {
			return outcomeAlive
		}
		d.addContainerStop(rec, WhyUnknownState)
		if !podstatus.MayRestart(d.Pod, c, exitUnknown) {
			return outcomeStopping // It may have run, and it may run only once.
		}
	}
	d.addRegularStart(i, startReason(rec))
	return outcomeAlive
}

// decideRunningContainer stops a running container and adds its next start in three cases: its name or image
// has changed, its resize requires a restart, or its liveness or startup probe has failed (CA-17). Within its
// crash-loop delay a container with another name or image keeps running. It adds no next start for a deleted
// pod, or after a failed probe if the restart policy is Never. A failed readiness probe does nothing (CA-19).
func (d *decision) decideRunningContainer(i int, c *v1.Container, rec *runtime.ContainerStatus) regularOutcome {
	verdict := d.Probed[rec.ID]
	why, again := WhySpecChanged, true
	switch {
	case hasNameOrImageChanged(rec, c):
		if d.delayReplacement(c, why) {
			return outcomeAlive
		}
		d.addContainerStop(rec, why)
	case d.needsRestartToResize(rec, c):
		why = WhyResize
		d.addContainerStop(rec, why)
	case verdict.Liveness == Failure:
		why, again = WhyLiveness, restartPolicyOf(d.Pod, c) != v1.RestartPolicyNever
		d.addStopAfterFailedProbe(rec, c.LivenessProbe, why)
	case verdict.Startup == Failure:
		why, again = WhyStartup, restartPolicyOf(d.Pod, c) != v1.RestartPolicyNever
		d.addStopAfterFailedProbe(rec, c.StartupProbe, why)
	default:
		return outcomeAlive
	}
	if !again || d.Pod.DeletionTimestamp != nil {
		return outcomeStopping
	}
	d.addRegularStart(i, why)
	return outcomeAlive
}

// startReason returns the reason to start a container that does not run, by the state of its newest record. A
// nil record gives WhyNotCreated.
func startReason(rec *runtime.ContainerStatus) Why {
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

// regularEntry returns the entry, with its records, of the regular container at a position.
func (d *decision) regularEntry(i int) *containerEntry {
	return d.entryAtOrFirstOfSameName(len(d.Pod.Spec.InitContainers) + i)
}

// addRegularStart adds a start step for the regular container at a position.
func (d *decision) addRegularStart(i int, why Why) {
	d.containers = append(d.containers, d.newStart(&d.Pod.Spec.Containers[i], d.regularEntry(i), why))
}
