package plan

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Input is everything that decides what to do with a pod.
type Input struct {
	Pod *v1.Pod
	// Status is what the runtime shows of the pod, all lives included.
	Status *runtime.PodStatus
	// Incarnation is the life that counts. Records of other lives are used
	// for attempt numbers only.
	Incarnation uint64
	// Now is compared with NotBefore and used for nothing else.
	Now time.Time
	// NotBefore holds, by container name, the end of crash-loop delays. A
	// container without one is not delayed.
	NotBefore map[string]time.Time
	// Published is the newest status of this life, or nil. It is looked at for
	// containers whose records are gone, and for the numbers of attempts.
	Published *v1.PodStatus
	// Probed are the verdicts of probes, by the runtime's ID of a container that
	// runs. A container without one has given no reason to be stopped, and if it
	// has a startup probe it has not started.
	Probed map[string]Probed
	// Initialized is the ID of the sandbox that the pod is known to have been
	// initialized in, by Actions.Initialized of an earlier decision. Empty: none.
	Initialized string
}

// Verdict is what a probe believes of a container.
type Verdict uint8

// The verdicts.
const (
	// NoVerdict: the probe has not come to one, or there is none.
	NoVerdict Verdict = iota
	// Success is what the name says.
	Success
	// Failure is what the name says.
	Failure
)

// Probed are the verdicts on one container.
type Probed struct{ Liveness, Startup Verdict }

// Actions is what to do with a pod now, in the order of the fields. The zero
// value: nothing.
type Actions struct {
	// KillPod says why all containers and sandboxes of the pod, of every life,
	// must be stopped before anything else. Empty: they need not.
	KillPod Why
	// Kill are containers to stop one by one.
	Kill []Kill
	// Prune are exited init containers that nobody needs any more.
	Prune []string
	// StopSandboxes are older sandboxes that are ready and that nobody uses.
	StopSandboxes []string
	// RemoveSandboxes are sandboxes left behind by calls whose reply was lost.
	RemoveSandboxes []string
	// PruneSandboxes are sandboxes of former lives that nobody needs any more.
	PruneSandboxes []string
	// CreateSandbox says why a sandbox is to be made, of SandboxAttempt. Empty:
	// containers are started in SandboxID.
	CreateSandbox  Why
	SandboxAttempt uint32
	SandboxID      string
	// Initialized says that the pod is initialized in SandboxID, as far as the
	// records tell: it is to be remembered for the decisions to come.
	Initialized bool
	// Reset are all containers of a pod that RestartAllContainers begins anew, in
	// the order in which they are to go: each is stopped, if it runs, and its
	// record removed. Nothing is started by the same decision.
	Reset []Kill
	// Ephemeral are the ephemeral containers to start, before all others; each
	// stands for itself.
	Ephemeral []Start
	// Init are the init containers to start, in order; if one fails nothing
	// after it is started, unless it is a sidecar.
	Init []Start
	// Containers are the regular containers to start, in order; each stands
	// for itself.
	Containers []Start
}

// Kill is one container to stop.
type Kill struct {
	ID   string
	Name string
	Why  Why
	// Grace, in seconds, is that of the probe whose failure is the reason, and
	// nil if the pod's counts. That of a deletion goes before it (KC-10).
	Grace *int64
}

// Start is one container to create and start.
type Start struct {
	Container *v1.Container
	// Attempt is the number of the new record.
	Attempt uint32
	// Remove are the created records that never ran and must go first, so that
	// there are never two.
	Remove []string
	// HeldUntil, if not zero, forbids the start before that time.
	HeldUntil time.Time
	Why       Why
	// Sidecar says that it is a restartable init container.
	Sidecar bool
}

// Idle reports whether there is nothing to do.
func (a *Actions) Idle() bool {
	return a.KillPod == "" && a.CreateSandbox == "" && len(a.Kill) == 0 && len(a.Init) == 0 &&
		len(a.Containers) == 0 && len(a.Ephemeral) == 0 && len(a.Reset) == 0 && len(a.StopSandboxes) == 0 && len(a.RemoveSandboxes) == 0 && len(a.PruneSandboxes) == 0
}

// Decide says what to do with a pod now. It changes nothing of its input.
func Decide(in Input) Actions {
	if in.Status == nil {
		in.Status = &runtime.PodStatus{UID: in.Pod.UID}
	}
	d := decision{Input: &in, place: findPlace(&in)}
	if d.place.replace != "" {
		d.replaceSandbox()
	} else {
		d.SandboxID = d.place.current.ID
		d.StopSandboxes, d.RemoveSandboxes = d.place.idle, d.place.late
		d.pruneFormer()
		d.killStrays()
		if d.initialize() {
			d.regular()
		}
	}
	if d.KillPod != "" {
		// Everything ends: single kills are part of it, and nothing starts
		// except in a new sandbox.
		d.Kill, d.StopSandboxes, d.RemoveSandboxes, d.PruneSandboxes = nil, nil, nil, nil
	}
	d.prune()
	return d.Actions
}

// decision is the state of one Decide.
type decision struct {
	*Input
	Actions
	place place
}

// replaceSandbox ends what there is and makes a new sandbox, unless nothing
// could run in it.
func (d *decision) replaceSandbox() {
	if d.anythingToStop() {
		d.KillPod = d.place.replace
	}
	if d.Pod.DeletionTimestamp != nil {
		return
	}
	// A container that ran under Never must not run again, and those that did
	// not run would miss it.
	if d.Pod.Spec.RestartPolicy == v1.RestartPolicyNever && ran(d.Status, d.Incarnation) {
		return
	}
	var regular []Start
	for i := range d.Pod.Spec.Containers {
		c := &d.Pod.Spec.Containers[i]
		rec := newest(d.Status, d.Incarnation, anySandbox, c.Name)
		if !d.done(c, rec) {
			regular = append(regular, d.start(c, WhyNewSandbox))
		}
	}
	if len(regular) == 0 {
		return
	}
	d.CreateSandbox, d.SandboxAttempt = d.place.replace, nextSandboxAttempt(d.Status)
	if len(d.Pod.Spec.InitContainers) > 0 {
		d.Init = []Start{d.start(&d.Pod.Spec.InitContainers[0], WhyNewSandbox)}
		return
	}
	d.Containers = regular
}

// done reports whether a container has ended in a way that its policy takes as
// the end, by its newest record. If that is gone the published status counts:
// what is removed does not begin anew.
func (d *decision) done(c *v1.Container, rec *runtime.ContainerStatus) bool {
	if rec != nil {
		return rec.State == runtime.StateExited && !mayRestart(d.Pod, c, rec.ExitCode)
	}
	if d.Published == nil {
		return false
	}
	status := find(d.Published.ContainerStatuses, c.Name)
	if status == nil {
		return false
	}
	end := lastEnd(status)
	return end != nil && !mayRunAgain(d.Pod, c, end)
}

// anythingToStop reports whether a kill of the pod would have an effect.
func (d *decision) anythingToStop() bool {
	for i := range d.Status.Containers {
		if d.Status.Containers[i].State != runtime.StateExited {
			return true
		}
	}
	// A sandbox that is not ready may still hold addresses.
	return len(d.Status.Sandboxes) > 0
}

// killStrays ends what runs outside the current sandbox or the spec.
func (d *decision) killStrays() {
	for i := range d.Status.Containers {
		c := &d.Status.Containers[i]
		if c.State != runtime.StateRunning {
			continue
		}
		switch {
		case c.Incarnation != d.Incarnation:
			d.kill(c, WhyFormerLife)
		case c.SandboxID != d.SandboxID:
			d.kill(c, WhyOtherSandbox)
		case !inSpec(d.Pod, c.Name):
			d.kill(c, WhyNotInSpec)
		case c != running(d.Status, d.Incarnation, d.SandboxID, c.Name):
			d.kill(c, WhyOlderAttempt)
		}
	}
}

func inSpec(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return true
		}
	}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return true
		}
	}
	return false
}

// regular looks at the regular containers of an initialized pod.
func (d *decision) regular() {
	alive := false
	for i := range d.Pod.Spec.Containers {
		alive = d.one(&d.Pod.Spec.Containers[i]) || alive
	}
	if !alive {
		d.KillPod = WhyNothingToRun
	}
}

// one looks at one regular container and reports whether it runs or will.
func (d *decision) one(c *v1.Container) bool {
	if rec := running(d.Status, d.Incarnation, d.SandboxID, c.Name); rec != nil {
		d.keep(c, rec)
		return true
	}
	rec := newest(d.Status, d.Incarnation, anySandbox, c.Name)
	if rec != nil && rec.State == runtime.StateRunning {
		return true // Not here: it is a stray, and started when it has ended.
	}
	if d.Pod.DeletionTimestamp != nil || d.done(c, rec) {
		return false
	}
	if rec != nil && rec.State == runtime.StateUnknown {
		d.kill(rec, WhyUnknownState)
	}
	d.Containers = append(d.Containers, d.start(c, whyStart(rec)))
	return true
}

// keep looks at a container that runs, and replaces it if its spec has changed.
func (d *decision) keep(c *v1.Container, rec *runtime.ContainerStatus) {
	if !hashChanged(rec, c) {
		return
	}
	d.kill(rec, WhySpecChanged)
	if d.Pod.DeletionTimestamp == nil {
		d.Containers = append(d.Containers, d.start(c, WhySpecChanged))
	}
}

// whyStart is why a container that does not run is started.
func whyStart(rec *runtime.ContainerStatus) Why {
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

// kill adds a container to those that must be stopped.
func (d *decision) kill(rec *runtime.ContainerStatus, why Why) {
	d.Kill = append(d.Kill, Kill{ID: rec.ID, Name: rec.Name, Why: why})
}

// start describes the next attempt at a container.
func (d *decision) start(c *v1.Container, why Why) Start {
	s := Start{Container: c, Attempt: nextAttempt(d.Status, d.Incarnation, c.Name, d.Published), Why: why}
	for i := range d.Status.Containers {
		r := &d.Status.Containers[i]
		if r.Name == c.Name && r.State == runtime.StateCreated {
			s.Remove = append(s.Remove, r.ID)
		}
	}
	if until := d.NotBefore[c.Name]; until.After(d.Now) {
		s.HeldUntil = until
	}
	return s
}
