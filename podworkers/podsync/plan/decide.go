package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// decision is the state of one Decide.
type decision struct {
	Input
	Actions
	index
	where    place
	recalled bool // the index has what was published
}

// Decide says what to do with a pod now. It changes nothing of its input, and
// takes time in proportion to it.
func Decide(in Input) Actions {
	if in.Status == nil {
		in.Status = &runtime.PodStatus{UID: in.Pod.UID}
	}
	d := decision{Input: in, where: findPlace(&in), index: index{replaced: in.Replaced}}
	if d.where.current != nil {
		d.SandboxID = d.where.current.ID
	}
	d.read(in.Pod, in.Status, in.Incarnation, d.SandboxID)
	switch {
	case d.resetAll():
		return d.Actions
	case d.where.replace != "" && d.Pod.DeletionTimestamp == nil && d.SandboxNotBefore.After(d.Now):
		d.Held = append(d.Held, Held{Why: d.where.replace, Until: d.SandboxNotBefore})
	case d.where.replace != "":
		d.SandboxID = ""
		d.replaceSandbox()
	default:
		d.inSandbox()
	}
	d.prune()
	return d.Actions
}

// inSandbox looks at the containers of a pod that has a sandbox to keep.
func (d *decision) inSandbox() {
	d.StopSandboxes, d.RemoveSandboxes = d.where.idle, d.where.late
	d.pruneFormer()
	d.killStrays()
	d.ephemeral()
	if d.initialize() {
		d.Actions.Initialized = true
		d.regular()
	}
	if d.KillPod != "" {
		// Everything ends: what else would be done is part of it, or for nothing.
		d.Actions = Actions{KillPod: d.KillPod, SandboxID: d.SandboxID, Initialized: d.Actions.Initialized}
	}
}

// killStrays ends what runs outside the current sandbox or the spec.
func (d *decision) killStrays() {
	for i := range d.Status.Containers {
		c := &d.Status.Containers[i]
		if c.State != runtime.StateRunning {
			continue
		}
		e := d.of(c.Name)
		switch {
		case c.Incarnation != d.Incarnation:
			d.kill(c, WhyPreviousIncarnation)
		case c.SandboxID != d.SandboxID:
			d.kill(c, WhyOtherSandbox)
		case e == nil:
			d.kill(c, WhyNotInSpec)
		case c != e.running:
			d.kill(c, WhyOlderAttempt)
		}
	}
}

// kill adds a container to those that must be stopped.
func (d *decision) kill(rec *runtime.ContainerStatus, why Why) {
	d.Kill = append(d.Kill, Kill{ID: rec.ID, Name: rec.Name, Why: why})
}

// holds reports whether a container that is to be replaced, though nobody but the
// runtime says so, has to wait for that: it stays as it is until then.
func (d *decision) holds(c *v1.Container, why Why) bool {
	until := d.NotBefore[c.Name]
	if !until.After(d.Now) || d.Pod.DeletionTimestamp != nil {
		return false
	}
	d.Held = append(d.Held, Held{Container: c.Name, Why: why, Until: until})
	return true
}

// killUnwell is kill for a container whose probe has failed: that of the probe
// is the time it has, if there is one (KC-10).
func (d *decision) killUnwell(rec *runtime.ContainerStatus, probe *v1.Probe, why Why) {
	k := Kill{ID: rec.ID, Name: rec.Name, Why: why}
	if probe != nil && d.Pod.DeletionTimestamp == nil {
		k.Grace = probe.TerminationGracePeriodSeconds
	}
	d.Kill = append(d.Kill, k)
}

// start describes the next attempt at a container.
func (d *decision) start(c *v1.Container, e *entry, why Why) Start {
	d.recall()
	s := Start{Container: c, Attempt: e.nextAttempt(), Why: why}
	if e.created {
		for rec := range d.all(e) {
			if rec.State == runtime.StateCreated {
				s.Remove = append(s.Remove, rec.ID)
			}
		}
	}
	if until := d.NotBefore[c.Name]; until.After(d.Now) {
		s.HeldUntil = until
	}
	return s
}
