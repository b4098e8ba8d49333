package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// pruneFormer lists the sandboxes of previous incarnations, once the pod has its own. One
// is kept as long as something in it may run, or as it has the newest number of
// a container: attempts are counted by records, and never begin anew.
func (d *decision) pruneFormer() {
	for _, id := range d.where.former {
		if !d.needed(id) {
			d.pruneSandboxes = append(d.pruneSandboxes, Step{Op: RemoveSandbox, ID: id, Reason: WhyFormerSandbox, Independent: true})
		}
	}
}

// needed reports whether a sandbox of a previous incarnation has to stay for now.
func (d *decision) needed(sandbox string) bool {
	if mayRun(d.Status, sandbox) {
		return true
	}
	for i := range d.Status.Containers {
		c := &d.Status.Containers[i]
		if c.SandboxID != sandbox {
			continue
		}
		if e := d.of(c.Name); e != nil && (e.newest == nil || e.newest.Attempt <= c.Attempt) {
			return true
		}
	}
	return false
}

// pruneInit lists what exited of the init containers about to run, but for the
// newest of each name: it shows people how the last attempt ended (RS-4).
func (d *decision) pruneInit() {
	for i := range d.init {
		var keep *runtime.ContainerStatus
		for rec := range d.all(d.of(d.init[i].Name)) {
			switch {
			case rec.State != runtime.StateExited:
			case keep == nil:
				keep = rec
			case newer(rec, keep):
				d.prunes = append(d.prunes, oldRecord(keep))
				keep = rec
			default:
				d.prunes = append(d.prunes, oldRecord(rec))
			}
		}
	}
}

func oldRecord(rec *runtime.ContainerStatus) Step {
	return Step{Op: RemoveContainer, ID: rec.ID, Name: rec.Name, Reason: WhyOlderRecord, Independent: true}
}
