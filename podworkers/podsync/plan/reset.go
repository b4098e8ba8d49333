package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// resetAll lists the records of all containers if one of them has ended in a way
// that makes all begin anew, and reports whether that is so (CA-21). The next
// decision sees none of them, and begins with initialization. If that is cut
// short the records that are the reason, which go last, bring it about again.
func (d *decision) resetAll() bool {
	if d.Pod.DeletionTimestamp != nil || !d.anyCause() {
		return false
	}
	first := len(d.Pod.Spec.InitContainers)
	for i := first; i < d.count; i++ {
		d.resetOne(d.place(i))
	}
	for i := first - 1; i >= 0; i-- {
		d.resetOne(d.place(i))
	}
	return true
}

// resetOne lists the records of one container, or adds it to the causes. What is
// begun anew has nothing to put in order, and gets no grace (outer 3.5).
func (d *decision) resetOne(e *entry) {
	if e.spec == nil {
		return // An ephemeral container is left as it is.
	}
	for rec := range d.all(e) {
		switch {
		case rec.Incarnation != d.Incarnation:
		case rec == e.newest && d.isCause(e):
			d.causes = append(d.causes, rec)
		default:
			d.resets = append(d.resets, rec)
		}
	}
}

// isCause reports whether the newest attempt at a container ended, in the
// current sandbox, in a way that makes all containers begin anew.
func (d *decision) isCause(e *entry) bool {
	if e.spec == nil || e.running != nil || e.here != e.newest || !restartsAll(e.spec, e.newest) {
		return false
	}
	d.recall()
	return !e.gone
}

func (d *decision) anyCause() bool {
	for i := range d.count {
		if d.isCause(d.place(i)) {
			return true
		}
	}
	return false
}

// resetSteps stop what runs of the containers that start over, and then remove all records,
// those that are the reason last.
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
