package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// planRestartAll plans the restart of all containers if an exit has triggered a restart rule with
// action RestartAllContainers, and reports whether it has (CA-21). The restart removes the records
// of all init and regular containers in this incarnation, so the next decision begins with the
// initialization. The records that triggered the rule are removed last, so that an interrupted
// restart begins again.
func (d *decision) planRestartAll() bool {
	if d.Pod.DeletionTimestamp != nil || !d.hasRestartAllCause() {
		return false
	}
	first := len(d.Pod.Spec.InitContainers)
	for i := first; i < d.count; i++ {
		d.planContainerReset(d.entryAt(i))
	}
	for i := first - 1; i >= 0; i-- {
		d.planContainerReset(d.entryAt(i))
	}
	return true
}

// planContainerReset adds the records of one container to resets, or to causes. It skips ephemeral
// containers and records of other incarnations.
func (d *decision) planContainerReset(e *containerEntry) {
	if e.spec == nil {
		return // Ephemeral containers are not restarted.
	}
	for rec := range d.recordsOf(e) {
		switch {
		case rec.Incarnation != d.Incarnation:
		case rec == e.newest && d.isRestartAllCause(e):
			d.causes = append(d.causes, rec)
		default:
			d.resets = append(d.resets, rec)
		}
	}
}

// isRestartAllCause reports whether the newest attempt at a container has exited in the current
// sandbox with a code that triggers a restart of all containers.
func (d *decision) isRestartAllCause(e *containerEntry) bool {
	if e.spec == nil || e.runningHere != nil || e.newestHere != e.newest || !recordRestartsAll(e.spec, e.newest) {
		return false
	}
	d.readPublishedOnce()
	return !e.publishedLost
}

// hasRestartAllCause reports whether the exit of any container triggers a restart of all
// containers.
func (d *decision) hasRestartAllCause() bool {
	for i := range d.count {
		if d.isRestartAllCause(d.entryAt(i)) {
			return true
		}
	}
	return false
}

// resetSteps returns the steps of a restart of all containers: first the stops, then the removals
// of their records. The records of causes are removed last. The stops have a grace period of zero.
func (a *actions) resetSteps() []Step {
	if len(a.causes) == 0 {
		return nil
	}
	var stops, removals []Step
	add := func(records []*runtime.ContainerStatus, why Why) {
		for _, rec := range records {
			if rec.State.MayRun() {
				stops = append(stops, Step{Op: StopContainer, ID: rec.ID, Name: rec.Name, Reason: why, Grace: new(int64)})
			}
			removals = append(removals, Step{Op: RemoveContainer, ID: rec.ID, Name: rec.Name, Reason: why})
		}
	}
	add(a.resets, WhyAllRestart)
	add(a.causes, WhyRestartsAll)
	return append(stops, removals...)
}
