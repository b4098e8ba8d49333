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

// decideRegularContainers decides about the regular containers of an initialized pod. When the last
// one has finished, the whole pod is stopped. While the last ones are stopping, no sidecar starts
// (CA-20).
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

// decideRegularContainer decides about the regular container at a position.
func (d *decision) decideRegularContainer(i int) regularOutcome {
	c, e := &d.Pod.Spec.Containers[i], d.regularEntry(i)
	if e.runningHere != nil {
		return d.decideRunningContainer(i, c, e.runningHere)
	}
	rec := e.newest
	if rec != nil && rec.State == runtime.StateRunning {
		return outcomeAlive // In another sandbox: it starts again after stopStrayContainers has stopped it.
	}
	if d.Pod.DeletionTimestamp != nil || d.isDone(c, e) {
		return outcomeStopped
	}
	if rec != nil && rec.State == runtime.StateUnknown {
		if d.holdReplacement(c, WhyUnknownState) {
			return outcomeAlive
		}
		d.addContainerStop(rec, WhyUnknownState)
		if !podstatus.MayRestart(d.Pod, c, exitUnknown) {
			return outcomeStopping // It may have run, and it may run only once.
		}
	}
	d.startRegularContainer(i, startReason(rec))
	return outcomeAlive
}

// decideRunningContainer stops a running container if its spec has changed or a probe has failed
// (CA-17). After a changed spec the container starts again under every policy. After a failed probe
// it starts again unless its policy is Never. The restart rules match exit codes, so they cannot
// decide before the exit. Under Never the next decision applies them. A failed readiness probe stops
// nothing (CA-19).
func (d *decision) decideRunningContainer(i int, c *v1.Container, rec *runtime.ContainerStatus) regularOutcome {
	verdict := d.Probed[rec.ID]
	why, again := WhySpecChanged, true
	switch {
	case hasSpecHashChanged(rec, c):
		if d.holdReplacement(c, why) {
			return outcomeAlive
		}
		d.addContainerStop(rec, why)
	case verdict.Liveness == Failure:
		why, again = WhyLiveness, restartPolicyOf(d.Pod, c) != v1.RestartPolicyNever
		d.stopAfterFailedProbe(rec, c.LivenessProbe, why)
	case verdict.Startup == Failure:
		why, again = WhyStartup, restartPolicyOf(d.Pod, c) != v1.RestartPolicyNever
		d.stopAfterFailedProbe(rec, c.StartupProbe, why)
	default:
		return outcomeAlive
	}
	if !again || d.Pod.DeletionTimestamp != nil {
		return outcomeStopping
	}
	d.startRegularContainer(i, why)
	return outcomeAlive
}

// startReason returns why a container that does not run is started, by its newest record.
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

// regularEntry returns the entry of the regular container at a position.
func (d *decision) regularEntry(i int) *containerEntry {
	return d.entryWithRecordsAt(len(d.Pod.Spec.InitContainers) + i)
}

// startRegularContainer adds the regular container at a position to the containers to start.
func (d *decision) startRegularContainer(i int, why Why) {
	d.containers = append(d.containers, d.newStart(&d.Pod.Spec.Containers[i], d.regularEntry(i), why))
}
