package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// planRestartAll plans a restart of all containers if an exit matches a restart rule with the action
// RestartAllContainers, and returns true (CA-21). It adds removals of all init and regular containers. The
// containers whose exit matches the rule are removed last, so that an interrupted restart continues. It returns
// false for a deleted pod, and if no exit matches.
func (d *decision) planRestartAll() (planned bool) {
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

// planContainerReset adds the records of one container to the records that a restart of all containers removes.
// A record whose exit triggered the restart is added to causes, which are removed last. It skips ephemeral
// containers and records of former pods with the same UID.
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

// isRestartAllCause reports whether the exit of the newest attempt, in the current sandbox, matches a rule that
// restarts all containers. It returns false if the published status shows a later attempt.
func (d *decision) isRestartAllCause(e *containerEntry) bool {
	if e.spec == nil || e.runningHere != nil || e.newestHere != e.newest || !recordRestartsAll(e.spec, e.newest) {
		return false
	}
	d.readPublishedOnce()
	return !e.publishedLost
}

// hasRestartAllCause reports whether the newest exit of any container matches a rule that restarts all
// containers of the pod.
func (d *decision) hasRestartAllCause() bool {
	for i := range d.count {
		if d.isRestartAllCause(d.entryAt(i)) {
			return true
		}
	}
	return false
}

// resetSteps returns the steps of a restart of all containers: stops with a grace period of 0 for containers
// that may run, and then the removal of all their records. The records whose exit triggered the restart are
// removed last. It returns nil if no restart was triggered.
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
