package verdict

import "time"

// publishedReadinessAge is how long before the agent a container must have started so that its
// published readiness is its initial verdict (PR-5).
const publishedReadinessAge = 10 * time.Second

// minReadinessInterval is the minimum time between two readiness attempts if MakeReadinessDue
// requested the second one.
const minReadinessInterval = time.Second

// Container is one container with up to three probes, one of each Kind. Make returns one without
// probes. It is a value: a copy is independent of the original. Its methods must not be called
// concurrently for the same value.
type Container struct {
	agentStart time.Time
	probes     [Kinds]probe

	id         string
	generation uint64 // a result of an earlier generation is dropped
	running    bool
	startedAt  time.Time
	started    bool // as published
}

// probe is the state of one probe.
type probe struct {
	spec    Spec
	exists  bool
	stopped bool          // StopLivenessAndStartup was called
	spread  time.Duration // the random part of its first period (PR-3)

	value         Value
	hasVerdict    bool // attempts have decided value; it is not initial
	last          Value
	outcomesInRow int32 // how many attempts in a row had the outcome last
	onHold        bool  // no attempt until the container is replaced

	attempting bool
	begun      time.Time // the begin of the last attempt
	due        time.Time // the next attempt
}

// Change is a changed Value of one probe, for the caller to report.
type Change struct {
	Kind  Kind
	ID    string // the container ID
	Value Value
}

// Facts is one observation of a container, from its status.
type Facts struct {
	ID        string    // the container ID; empty if the status has none
	Running   bool      // the container runs
	StartedAt time.Time // when it was started, if it runs
	Started   bool      // the status published last has Started
	Ready     bool      // the status published last has Ready
}

// Make returns a container without probes. agentStart is the time at which this
// process began: a container that was started more than 10 s earlier keeps the
// readiness that was published for it.
func Make(agentStart time.Time) Container { return Container{agentStart: agentStart} }

// AddProbe adds a probe and reports whether it did. It does nothing if the container has a probe of
// this kind. spread, in [0,1), is the part of the first period that the probe waits in a container
// that is older than this process. Without it the probes of all containers would run at once after
// a restart of the agent.
func (c *Container) AddProbe(k Kind, s Spec, spread float64, now time.Time) bool {
	p := &c.probes[k]
	if p.exists {
		return false
	}
	*p = probe{spec: s, exists: true, spread: time.Duration(spread * float64(s.Period))}
	if c.id != "" {
		p.value = c.initialVerdict(k, Facts{ID: c.id, StartedAt: c.startedAt, Started: c.started})
		p.due = c.firstDue(p, now)
	}
	return true
}

// ID returns the ID of the last observed container; empty before the first observation.
func (c *Container) ID() string { return c.id }

// Generation returns a number that changes whenever Observe gets another container, or the same
// container running again. The caller of BeginAttempt keeps it and passes it to FinishAttempt.
func (c *Container) Generation() uint64 { return c.generation }

// HasProbe reports whether AddProbe has added a probe of this kind, also after
// StopLivenessAndStartup.
func (c *Container) HasProbe(k Kind) bool { return c.probes[k].exists }

// Value returns the verdict of the probe of this kind. It is Unknown if the container has no such
// probe, or if id is not the ID of the last observed container.
func (c *Container) Value(k Kind, id string) Value {
	if id == "" || id != c.id {
		return Unknown
	}
	return c.probes[k].value
}

// Due returns when the next attempt of the probe of this kind should begin; the time may
// have passed. It returns false if no attempt should begin until another method has been
// called: while the container does not run, while an attempt is under way, for liveness and
// readiness until the container has started, for startup after it has started, for startup and
// liveness after the probe has failed, and after StopLivenessAndStartup.
func (c *Container) Due(k Kind) (time.Time, bool) {
	p := &c.probes[k]
	if !p.exists || p.stopped || p.onHold || p.attempting || !c.running {
		return time.Time{}, false
	}
	if (k == Startup) == c.isStarted() {
		return time.Time{}, false
	}
	return p.due, true
}

// isStarted reports whether the container counts as started, so that its liveness and readiness probes run and
// its startup probe does not. It returns true without a startup probe, and after the startup probe has
// succeeded. Before the startup probe has a verdict, the published status decides (PR-6, PR-7, PR-10, PR-13).
func (c *Container) isStarted() bool {
	p := &c.probes[Startup]
	if !p.exists || p.value == Success {
		return true
	}
	return p.value == Unknown && c.started
}

// Started returns the field Started of a running container's status: true without a
// startup probe, else whether that has succeeded in the container with this ID.
func (c *Container) Started(id string) bool {
	return !c.probes[Startup].exists || id != "" && id == c.id && c.isStarted()
}

// Ready returns the field Ready of the status of a container that runs and has started:
// true without a readiness probe, else whether that has succeeded in the container with
// this ID.
func (c *Container) Ready(id string) bool {
	return !c.probes[Readiness].exists || c.Value(Readiness, id) == Success
}

// BeginAttempt records the begin of an attempt. The caller must call FinishAttempt or
// AbandonAttempt afterwards. Until then Due returns false for this kind.
func (c *Container) BeginAttempt(k Kind, now time.Time) {
	p := &c.probes[k]
	p.attempting, p.begun = true, now
	p.due = nextTick(p.due, now, p.spec.Period)
}

// AbandonAttempt ends an attempt without an outcome.
func (c *Container) AbandonAttempt(k Kind) { c.probes[k].attempting = false }

// SkipMissedTicks moves every overdue probe to its next tick after now. It is called after the
// process was suspended. Without it all missed probes would run at once.
func (c *Container) SkipMissedTicks(now time.Time) {
	for k := range c.probes {
		if p := &c.probes[k]; p.exists {
			p.due = nextTick(p.due, now, p.spec.Period)
		}
	}
}

// MakeReadinessDue makes the readiness probe due now if it has no verdict yet. It does nothing
// before the first attempt, less than a second after the last attempt, or if the probe is due. It
// is called when a status is made, so that a container becomes Ready soon.
func (c *Container) MakeReadinessDue(now time.Time) {
	p := &c.probes[Readiness]
	if !p.exists || p.hasVerdict || p.begun.IsZero() || now.Sub(p.begun) < minReadinessInterval || !now.Before(p.due) {
		return
	}
	p.due = now
}

// StopLivenessAndStartup stops the liveness and the startup probe. Their verdicts become Success and
// stay so, and it appends the changes to changes. It is called when the pod begins to terminate: a
// container that shuts down must not be killed for failing these probes. The readiness probe
// continues.
func (c *Container) StopLivenessAndStartup(changes []Change) []Change {
	for _, k := range [...]Kind{Liveness, Startup} {
		if p := &c.probes[k]; p.exists && !p.stopped {
			p.stopped = true
			changes = c.setVerdictAndAppendChange(changes, k, Success)
		}
	}
	return changes
}

// setVerdictAndAppendChange sets the verdict of a probe. It appends a Change if the verdict differs and the
// container has an ID, and returns the changes.
func (c *Container) setVerdictAndAppendChange(changes []Change, k Kind, v Value) []Change {
	p := &c.probes[k]
	if p.value == v {
		return changes
	}
	p.value = v
	if c.id == "" {
		return changes
	}
	return append(changes, Change{k, c.id, v})
}
