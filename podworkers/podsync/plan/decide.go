package plan

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// decision is the state of one call of Decide.
type decision struct {
	Pod     *v1.Pod
	Runtime *runtime.PodStatus
	Input
	recordIndex
	actions
	sandboxes     podSandboxes
	publishedRead bool // readPublished has run
}

// actions holds the steps of a decision by purpose, in the order in which the executor performs
// them.
type actions struct {
	held []Held // replacements that wait for their delay
	// stopPodReason is the reason to stop all containers and sandboxes of the pod, of every incarnation,
	// before anything else. Empty: the pod is not stopped.
	stopPodReason  Why
	containerStops []Step // containers to stop one by one
	// resets and causes hold the records of the containers that a restart rule with action
	// RestartAllContainers restarts, in the order of removal. Each running one is stopped first.
	// causes has the containers whose exit triggered the rule. They are removed last, so that an
	// interrupted restart begins again. A decision with causes has no other steps.
	resets          []*runtime.ContainerStatus
	causes          []*runtime.ContainerStatus
	prunes          []Step // exited init containers that are no longer needed
	stopSandboxes   []Step // older ready sandboxes that the pod does not use
	removeSandboxes []Step // left by calls whose reply was lost
	pruneSandboxes  []Step // of previous incarnations, no longer needed
	createSandbox   Why    // empty: containers start in sandboxID
	sandboxAttempt  uint32
	sandboxID       string
	initialized     bool   // the pod is initialized in sandboxID
	updates         []Step // resizes of running containers
	differences     []runningDifference
	ephemeral       []Held
	// init has the init containers to start, in order. Only the last one may be an ordinary init
	// container: the containers after it start when it has succeeded (RS-7).
	init []Held
	// containers has the regular containers to start, in order.
	containers []Held
}

// Decide returns the next steps for a pod, from its spec and from the records that the runtime
// shows of all incarnations of the pod. Decide does not terminate a deleted pod: it starts nothing
// in it, but running containers are stopped by the caller. A nil seen is a pod without records. A
// nil pod has no containers. Decide does not change its arguments, takes time in proportion to their
// size, and may be called concurrently.
func Decide(pod *v1.Pod, seen *runtime.PodStatus, in Input) Decision {
	if pod == nil {
		pod = new(v1.Pod)
	}
	if seen == nil {
		seen = &runtime.PodStatus{UID: pod.UID}
	}
	in.Incarnation = comparableIncarnation(seen, in.Incarnation)
	d := decision{Pod: pod, Runtime: seen, Input: in, sandboxes: findPodSandboxes(pod, seen, in.Incarnation, in.Addresses), recordIndex: recordIndex{containerMemories: in.Memory.containers}}
	if d.sandboxes.current != nil {
		d.sandboxID = d.sandboxes.current.ID
	}
	d.readRecords(pod, seen, in.Incarnation, d.sandboxID)
	d.updateMemory()
	switch {
	case d.planRestartAll():
		return d.buildDecision()
	case d.sandboxes.replaceReason != "" && d.Pod.DeletionTimestamp == nil && d.sandboxDelayEnd().After(d.Now):
		d.delaySandboxReplacement()
	case d.sandboxes.replaceReason != "":
		d.sandboxID = ""
		d.planSandboxReplacement()
	default:
		d.decideInCurrentSandbox()
	}
	d.addExitedInitRemovals()
	return d.buildDecision()
}

// delaySandboxReplacement adds the delayed step that replaces the sandbox. Containers may still run in the sandbox, and
// this decision neither stops nor updates them, so the cgroup of the pod keeps what they have.
func (d *decision) delaySandboxReplacement() {
	d.held = append(d.held, Held{Step: Step{Op: CreateSandbox, Reason: d.sandboxes.replaceReason}, Until: d.sandboxDelayEnd(), Delay: d.Memory.sandbox.backoff.Delay})
	d.addRunningDifferences()
	for i := range d.differences {
		d.differences[i].update = false
	}
}

// decideInCurrentSandbox adds the steps for a pod that keeps its sandbox: stops and removals of other
// sandboxes, stops of unwanted containers, starts, and resource updates of running containers. If the whole pod
// must stop, it discards all these steps and keeps only the reason.
func (d *decision) decideInCurrentSandbox() {
	for _, id := range d.sandboxes.unused {
		d.stopSandboxes = append(d.stopSandboxes, Step{Op: StopSandbox, ID: id, Reason: WhyUnused})
	}
	for _, id := range d.sandboxes.duplicates {
		d.removeSandboxes = append(d.removeSandboxes, Step{Op: RemoveSandbox, ID: id, Reason: WhyDuplicateSandbox})
	}
	d.addFormerSandboxRemovals()
	d.addStrayContainerStops()
	d.addEphemeralStarts()
	if d.decideInitContainers() {
		d.initialized = true
		d.decideRegularContainers()
	}
	d.addContainerUpdates()
	if d.stopPodReason != "" {
		// StopPod includes every other stop, and nothing starts.
		d.actions = actions{stopPodReason: d.stopPodReason, sandboxID: d.sandboxID, initialized: d.initialized}
	}
}

// addStrayContainerStops adds a stop step for each running container that should not run: of a former pod with
// the same UID, outside the current sandbox, not in the spec, or older than another running attempt.
func (d *decision) addStrayContainerStops() {
	for i := range d.Runtime.Containers {
		c := &d.Runtime.Containers[i]
		if c.State != runtime.StateRunning {
			continue
		}
		e := d.entryByName(c.Name)
		switch {
		case c.Incarnation != d.Incarnation:
			d.addContainerStop(c, WhyPreviousIncarnation)
		case c.SandboxID != d.sandboxID:
			d.addContainerStop(c, WhyOtherSandbox)
		case e == nil:
			d.addContainerStop(c, WhyNotInSpec)
		case c != e.runningHere:
			d.addContainerStop(c, WhyOlderAttempt)
		}
	}
}

// newStopStep returns the step that stops the container of a record. Its field Replaces is set if the stop is
// for the next attempt and the restart policy allows a restart only after a failure.
func (d *decision) newStopStep(rec *runtime.ContainerStatus, why Why) Step {
	return Step{Op: StopContainer, ID: rec.ID, Name: rec.Name, Reason: why, Replaces: why.StopsForNextAttempt() && RestartsOnlyOnFailure(d.Pod, rec.Name)}
}

// addContainerStop adds a stop step for the container of a record.
func (d *decision) addContainerStop(rec *runtime.ContainerStatus, why Why) {
	d.containerStops = append(d.containerStops, d.newStopStep(rec, why))
}

// delayReplacement adds a delayed stop step if the crash-loop delay of a container is not over, and returns
// true. It returns false and does nothing if the container has no delay or the pod is being deleted. Without
// the delay, wrong values from the runtime would cause replacements in a hot loop.
func (d *decision) delayReplacement(c *v1.Container, why Why) (delayed bool) {
	until, delay := d.containerDelay(c)
	if until.IsZero() || d.Pod.DeletionTimestamp != nil {
		return false
	}
	d.held = append(d.held, Held{Step{Op: StopContainer, Name: c.Name, Reason: why}, until, delay})
	return true
}

// addStopAfterFailedProbe adds a stop step for a container whose probe has failed. The step has the grace
// period of the probe. It has none if the probe sets none, or if the pod is being deleted (KC-10).
func (d *decision) addStopAfterFailedProbe(rec *runtime.ContainerStatus, probe *v1.Probe, why Why) {
	k := d.newStopStep(rec, why)
	if probe != nil && d.Pod.DeletionTimestamp == nil {
		k.Grace = probe.TerminationGracePeriodSeconds
	}
	d.containerStops = append(d.containerStops, k)
}

// newStart returns the step that starts the next attempt at a container, with the end of its crash-loop delay. The
// step lists the containers that were created and not started. If there is exactly one and it can still be
// started, the step names it for reuse. Otherwise the step reuses no container.
func (d *decision) newStart(c *v1.Container, e *containerEntry, why Why) Held {
	d.readPublishedOnce()
	s := Held{Step: Step{
		Op: StartContainer, Reason: why, Independent: true, Name: c.Name, Container: c, Attempt: e.nextAttempt(),
		podLimits: podLevelLimits(d.Pod),
	}}
	if e.hasCreated {
		for rec := range d.recordsOf(e) {
			if rec.State == runtime.StateCreated {
				s.Created = append(s.Created, rec.ID)
				if d.canStartCreatedContainer(rec, c) {
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

// canStartCreatedContainer reports whether a container that was created and never started may be started now.
// It must be in the current sandbox with the current name, image and resources, and the runtime must not have refused
// its start for too long. With the resources of an earlier spec it could exceed the cgroup of the pod.
func (d *decision) canStartCreatedContainer(rec *runtime.ContainerStatus, c *v1.Container) bool {
	want := wantedResources(c, podLevelLimits(d.Pod))
	if needsResize(adoptResources(c, want, rec.Resources), want) {
		return false
	}
	return d.sandboxID != "" && rec.SandboxID == d.sandboxID && rec.Annotations[HashAnnotation] == SpecHash(c) && d.Memory.canRetryStart(rec.Name, rec.ID, d.Now)
}
