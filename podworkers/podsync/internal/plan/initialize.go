package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// initialize looks at the init containers, from the last one, and reports
// whether the pod is initialized. Only records of the current sandbox count:
// what ran before a reboot has initialized something that is gone.
func (d *decision) initialize() bool {
	all := d.Pod.Spec.InitContainers
	if len(all) == 0 || d.initialized() {
		return true
	}
	for i := len(all) - 1; i >= 0; i-- {
		if running(d.Status, d.Incarnation, d.SandboxID, all[i].Name) != nil {
			return false
		}
		rec := newest(d.Status, d.Incarnation, d.SandboxID, all[i].Name)
		if rec == nil {
			continue
		}
		if rec.State == runtime.StateExited && rec.ExitCode == 0 {
			if i == len(all)-1 {
				return true
			}
			d.startInit(i+1, WhyPreviousDone)
			return false
		}
		d.continueInit(i, rec)
		return false
	}
	d.startInit(0, WhyNotCreated)
	return false
}

// initialized reports whether a regular container has a record in the current
// sandbox. That it exited since does not matter, because the record says which
// sandbox it belongs to.
func (d *decision) initialized() bool {
	for i := range d.Pod.Spec.Containers {
		if newest(d.Status, d.Incarnation, d.SandboxID, d.Pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return false
}

// continueInit looks at the init container that the pod stands at and that
// neither runs nor has succeeded.
func (d *decision) continueInit(i int, rec *runtime.ContainerStatus) {
	if rec.State == runtime.StateCreated {
		d.startInit(i, WhyNeverStarted)
		return
	}
	// An unknown end is never a success.
	code := rec.ExitCode
	if rec.State == runtime.StateUnknown {
		code = exitUnknown
	}
	if !mayRestart(d.Pod, &d.Pod.Spec.InitContainers[i], code) {
		d.KillPod = WhyInitFailed
		return
	}
	if rec.State == runtime.StateUnknown {
		d.kill(rec, WhyUnknownState)
	}
	d.startInit(i, whyStart(rec))
}

func (d *decision) startInit(i int, why Why) {
	if d.Pod.DeletionTimestamp == nil {
		d.Init = []Start{d.start(&d.Pod.Spec.InitContainers[i], why)}
	}
}

// pruneFormer lists the sandboxes of former lives, once the pod has its own. One
// is kept as long as something in it may run, or as it has the newest number of
// a container: attempts are counted by records, and never begin anew.
func (d *decision) pruneFormer() {
	for _, id := range d.place.former {
		if !d.needed(id) {
			d.PruneSandboxes = append(d.PruneSandboxes, id)
		}
	}
}

// needed reports whether a sandbox of a former life has to stay for now.
func (d *decision) needed(sandbox string) bool {
	if alive(d.Status, sandbox) {
		return true
	}
	for i := range d.Status.Containers {
		c := &d.Status.Containers[i]
		if c.SandboxID != sandbox {
			continue
		}
		mine := newest(d.Status, d.Incarnation, anySandbox, c.Name)
		if inSpec(d.Pod, c.Name) && (mine == nil || mine.Attempt <= c.Attempt) {
			return true
		}
	}
	return false
}

// prune lists what exited of the init containers about to run, but for the
// newest of each name: it shows people how the last attempt ended.
func (d *decision) prune() {
	for i := range d.Init {
		name := d.Init[i].Container.Name
		var keep *runtime.ContainerStatus
		for j := range d.Status.Containers {
			c := &d.Status.Containers[j]
			if c.Name != name || c.State != runtime.StateExited {
				continue
			}
			switch {
			case keep == nil:
				keep = c
			case newer(c, keep):
				d.Prune = append(d.Prune, keep.ID)
				keep = c
			default:
				d.Prune = append(d.Prune, c.ID)
			}
		}
	}
}
