package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// addFormerSandboxRemovals adds a removal step for each sandbox of a former pod with the same UID that is not
// ready and no longer needed.
func (d *decision) addFormerSandboxRemovals() {
	for _, id := range d.sandboxes.former {
		if !d.isFormerSandboxNeeded(id) {
			d.pruneSandboxes = append(d.pruneSandboxes, Step{Op: RemoveSandbox, ID: id, Reason: WhyFormerSandbox, Independent: true})
		}
	}
}

// isFormerSandboxNeeded reports whether a sandbox of a former pod with the same UID must stay. It must stay if
// a container in it may run, or if it has the highest attempt of a container. Without that attempt the attempt
// numbers would start over.
func (d *decision) isFormerSandboxNeeded(sandbox string) bool {
	if hasRunningContainer(d.Runtime, sandbox) {
		return true
	}
	for i := range d.Runtime.Containers {
		c := &d.Runtime.Containers[i]
		if c.SandboxID != sandbox {
			continue
		}
		if e := d.entryByName(c.Name); e != nil && (e.newest == nil || e.newest.Attempt <= c.Attempt) {
			return true
		}
	}
	return false
}

// addExitedInitRemovals adds a removal step for the older exited records of each init container that starts in
// this decision. The newest exited record stays, so that people can read its log (RS-4).
func (d *decision) addExitedInitRemovals() {
	for i := range d.init {
		var keep *runtime.ContainerStatus
		for rec := range d.recordsOf(d.entryByName(d.init[i].Name)) {
			switch {
			case rec.State != runtime.StateExited:
			case keep == nil:
				keep = rec
			case isNewerRecord(rec, keep):
				d.prunes = append(d.prunes, newRemoveStep(keep))
				keep = rec
			default:
				d.prunes = append(d.prunes, newRemoveStep(rec))
			}
		}
	}
}

// newRemoveStep returns the step that removes the container of a record because a newer record exists. An error
// of the step does not stop the other steps.
func newRemoveStep(rec *runtime.ContainerStatus) Step {
	return Step{Op: RemoveContainer, ID: rec.ID, Name: rec.Name, Reason: WhyOlderRecord, Independent: true}
}
