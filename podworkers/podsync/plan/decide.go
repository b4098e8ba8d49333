package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// decision is the state of one Decide.
type decision struct {
	Pod    *v1.Pod
	Status *runtime.PodStatus
	Input
	index
	actions
	where    place
	recalled bool // the index has what was published
}

// actions are the steps of a decision, grouped by their purpose, in the order in which they are done.
type actions struct {
	held []Held // what is not replaced yet
	// killPod says why all containers and sandboxes of the pod, of every incarnation, must be stopped
	// before anything else. Empty: they need not.
	killPod Why
	kills   []Step // containers to stop one by one
	// resets are the init and regular containers of a pod that RestartAllContainers restarts, in the
	// order of their removal: each is stopped, if it runs, and its record is removed. causes are the
	// containers whose exit is the reason. They are removed last, after all others. Such a decision has
	// no other step.
	resets          []*runtime.ContainerStatus
	causes          []*runtime.ContainerStatus
	prunes          []Step // exited init containers that are no longer needed
	stopSandboxes   []Step // older ones that are ready and not used
	removeSandboxes []Step // left behind by calls whose reply was lost
	pruneSandboxes  []Step // of previous incarnations, no longer needed
	createSandbox   Why    // empty: containers are started in sandboxID
	sandboxAttempt  uint32
	sandboxID       string
	initialized     bool // in sandboxID
	ephemeral       []Held
	// init are the init containers to start, in order. At most one of them is not a sidecar. That one
	// comes last, and no regular container starts with it: what needs it starts after it has ended (RS-7).
	init []Held
	// containers are the regular containers to start, in order.
	containers []Held
}

// Decide returns the next steps for a pod, from its spec and the records that the runtime shows of all its
// incarnations. A nil seen is a pod of which the runtime shows nothing. A nil pod is one without containers.
// Decide does not change its arguments, takes time in proportion to their size, and may be called
// concurrently.
func Decide(pod *v1.Pod, seen *runtime.PodStatus, in Input) Decision {
	if pod == nil {
		pod = new(v1.Pod)
	}
	if seen == nil {
		seen = &runtime.PodStatus{UID: pod.UID}
	}
	in.Incarnation = storedIncarnation(seen, in.Incarnation)
	d := decision{Pod: pod, Status: seen, Input: in, where: findPlace(pod, seen, in.Incarnation, in.Addresses), index: index{pasts: in.Memory.pasts}}
	if d.where.current != nil {
		d.sandboxID = d.where.current.ID
	}
	d.read(pod, seen, in.Incarnation, d.sandboxID)
	d.observe()
	switch {
	case d.resetAll():
		return d.decided()
	case d.where.replace != "" && d.Pod.DeletionTimestamp == nil && d.sandboxHeldUntil().After(d.Now):
		d.held = append(d.held, Held{Step: Step{Op: CreateSandbox, Reason: d.where.replace}, Until: d.sandboxHeldUntil(), Delay: d.Memory.sandbox.backoff.Delay})
	case d.where.replace != "":
		d.sandboxID = ""
		d.replaceSandbox()
	default:
		d.inSandbox()
	}
	d.pruneInit()
	return d.decided()
}

// inSandbox decides about the containers of a pod that keeps its sandbox.
func (d *decision) inSandbox() {
	for _, id := range d.where.idle {
		d.stopSandboxes = append(d.stopSandboxes, Step{Op: StopSandbox, ID: id, Reason: WhyUnused})
	}
	for _, id := range d.where.late {
		d.removeSandboxes = append(d.removeSandboxes, Step{Op: RemoveSandbox, ID: id, Reason: WhyCameLate})
	}
	d.pruneFormer()
	d.killStrays()
	d.startEphemeral()
	if d.initialize() {
		d.initialized = true
		d.regular()
	}
	if d.killPod != "" {
		// The pod is stopped: any other step is a part of that, or has no effect.
		d.actions = actions{killPod: d.killPod, sandboxID: d.sandboxID, initialized: d.initialized}
	}
}

// killStrays stops the containers that run outside the current sandbox or are not in the spec.
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
		case c.SandboxID != d.sandboxID:
			d.kill(c, WhyOtherSandbox)
		case e == nil:
			d.kill(c, WhyNotInSpec)
		case c != e.running:
			d.kill(c, WhyOlderAttempt)
		}
	}
}

// stop returns the step that stops a container.
func (d *decision) stop(rec *runtime.ContainerStatus, why Why) Step {
	return Step{Op: StopContainer, ID: rec.ID, Name: rec.Name, Reason: why, Replaces: why.Replaces() && EndsOnSuccess(d.Pod, rec.Name)}
}

// kill adds a container to those that must be stopped.
func (d *decision) kill(rec *runtime.ContainerStatus, why Why) {
	d.kills = append(d.kills, d.stop(rec, why))
}

// holds reports whether a container that is to be replaced, though nobody but the
// runtime says so, has to wait for that: it stays as it is until then.
func (d *decision) holds(c *v1.Container, why Why) bool {
	until, delay := d.heldUntil(c)
	if until.IsZero() || d.Pod.DeletionTimestamp != nil {
		return false
	}
	d.held = append(d.held, Held{Step{Op: StopContainer, Name: c.Name, Reason: why}, until, delay})
	return true
}

// killUnwell is kill for a container whose probe has failed: that of the probe
// is the time it has, if there is one (KC-10).
func (d *decision) killUnwell(rec *runtime.ContainerStatus, probe *v1.Probe, why Why) {
	k := d.stop(rec, why)
	if probe != nil && d.Pod.DeletionTimestamp == nil {
		k.Grace = probe.TerminationGracePeriodSeconds
	}
	d.kills = append(d.kills, k)
}

// start describes the next attempt at a container.
func (d *decision) start(c *v1.Container, e *entry, why Why) Held {
	d.recall()
	s := Held{Step: Step{
		Op: StartContainer, Reason: why, Independent: true, Name: c.Name, Container: c, Attempt: e.nextAttempt(),
	}}
	if e.created {
		for rec := range d.all(e) {
			if rec.State == runtime.StateCreated {
				s.Created = append(s.Created, rec.ID)
				if d.canReuse(rec, c) {
					s.Reuse = rec.ID
				}
			}
		}
		if len(s.Created) > 1 {
			s.Reuse = ""
		}
	}
	s.Until, s.Delay = e.heldUntil, e.delay
	return s
}

// canReuse reports whether a created container is as a new one would be, and may be started: the
// reply to its creation was lost, or an agent was killed before it started the container.
func (d *decision) canReuse(rec *runtime.ContainerStatus, c *v1.Container) bool {
	return d.sandboxID != "" && rec.SandboxID == d.sandboxID && rec.Annotations[HashAnnotation] == SpecHash(c) && d.Memory.mayStart(rec.Name, rec.ID, d.Now)
}
