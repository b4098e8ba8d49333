package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// pruneFormerSandboxes adds the removal of each sandbox of a previous incarnation that is no longer
// needed.
func (d *decision) pruneFormerSandboxes() {
	for _, id := range d.sandboxes.former {
		if !d.isFormerSandboxNeeded(id) {
			d.pruneSandboxes = append(d.pruneSandboxes, Step{Op: RemoveSandbox, ID: id, Reason: WhyFormerSandbox, Independent: true})
		}
	}
}

// isFormerSandboxNeeded reports whether a sandbox of a previous incarnation must stay: a container
// in it may run, or it has the highest attempt number of a container, and attempt numbers never
// start over.
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

// pruneInitRecords adds the removal of the exited records of the init containers that start now.
// The newest exited record of each stays, so that people can read its log (RS-4).
func (d *decision) pruneInitRecords() {
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

// newRemoveStep returns the step that removes an old record.
func newRemoveStep(rec *runtime.ContainerStatus) Step {
	return Step{Op: RemoveContainer, ID: rec.ID, Name: rec.Name, Reason: WhyOlderRecord, Independent: true}
}
