package verdict

import "time"

// before is how much earlier than the agent a container must have started for
// its published readiness to be believed (PR-5).
const before = 10 * time.Second

// retrigger is the least time between two attempts of which the later was
// asked for by Hurry.
const retrigger = time.Second

// Container is one container with up to three probes, one of each Kind. Make
// returns one without probes. It is a value: a copy is independent of the original.
// Its methods must not be called concurrently for the same value.
type Container struct {
	agentStart time.Time
	probes     [Kinds]probe

	id         string
	generation uint64 // of the id: outcomes of another one are too late
	running    bool
	startedAt  time.Time
	started    bool // as published
}

// probe is the state of one probe.
type probe struct {
	spec   Spec
	exists bool
	ended  bool          // by Stop
	spread time.Duration // the random part of a period (PR-3)

	value   Value
	reached bool // value is the answer of probes, not an initial one
	last    Value
	run     int32 // how many times in a row last was the outcome
	hold    bool

	attempting bool
	begun      time.Time // the last attempt
	due        time.Time // the next one, if it may run at all
}

// Change is a new Value of one probe, to be reported by the caller.
type Change struct {
	Kind  Kind
	ID    string // of the container
	Value Value
}

// Facts is one observation of a container, as its status shows it.
type Facts struct {
	ID        string    // the container's ID; empty if the status has none
	Running   bool      // the container runs
	StartedAt time.Time // when it was started, if it runs
	Started   bool      // the status published last has Started
	Ready     bool      // the status published last has Ready
}

// Make returns a container without probes. agentStart is the time at which this
// process began: a container that was started more than 10 s earlier keeps the
// readiness that was published for it.
func Make(agentStart time.Time) Container { return Container{agentStart: agentStart} }

// Add adds a probe and reports whether it did: it does nothing if the container
// has a probe of this kind. spread, a number in [0,1), is the part of the first period
// that the probe waits in a container that is older than this process, so that the
// probes of all containers do not run at once after a restart of the agent.
func (c *Container) Add(k Kind, s Spec, spread float64, now time.Time) bool {
	p := &c.probes[k]
	if p.exists {
		return false
	}
	*p = probe{spec: s, exists: true, spread: time.Duration(spread * float64(s.Period))}
	if c.id != "" {
		p.value = c.initial(k, Facts{ID: c.id, StartedAt: c.startedAt, Started: c.started})
		p.due = c.first(p, now)
	}
	return true
}

// ID returns the ID of the container that was observed last; empty before the first
// one.
func (c *Container) ID() string { return c.id }

// Generation returns a number that changes whenever Observe sees another container,
// or the same one running again. The caller of Begin keeps it and passes it to
// Finish.
func (c *Container) Generation() uint64 { return c.generation }

// Exists reports whether Add has added a probe of this kind, also after Stop.
func (c *Container) Exists(k Kind) bool { return c.probes[k].exists }

// Value returns the verdict of the probe of this kind. It is Unknown if there is no such
// probe, or if id is not the ID of the container that was observed last.
func (c *Container) Value(k Kind, id string) Value {
	if id == "" || id != c.id {
		return Unknown
	}
	return c.probes[k].value
}

// Due returns when the next attempt of the probe of this kind should begin; the time may
// have passed. It returns false if no attempt should begin until another method has been
// called: while the container does not run, while an attempt is under way, for liveness and
// readiness until the container has started, for startup after it has, after a startup
// probe or a liveness probe has failed, and after Stop.
func (c *Container) Due(k Kind) (time.Time, bool) {
	p := &c.probes[k]
	if !p.exists || p.ended || p.hold || p.attempting || !c.running {
		return time.Time{}, false
	}
	if (k == Startup) == c.isStarted() {
		return time.Time{}, false
	}
	return p.due, true
}

// isStarted reports whether liveness and readiness probes may run (PR-6, PR-7, PR-10,
// PR-13).
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

// Begin records that an attempt begins now. The caller must call Finish or Abandon
// afterwards; until then Due returns false for this kind.
func (c *Container) Begin(k Kind, now time.Time) {
	p := &c.probes[k]
	p.attempting, p.begun = true, now
	p.due = nextTick(p.due, now, p.spec.Period)
}

// Abandon ends an attempt without an outcome.
func (c *Container) Abandon(k Kind) { c.probes[k].attempting = false }

// Skip moves every probe that is overdue to its next tick after now. It is called after
// the process was suspended: without it all missed probes would run at once.
func (c *Container) Skip(now time.Time) {
	for k := range c.probes {
		if p := &c.probes[k]; p.exists {
			p.due = nextTick(p.due, now, p.spec.Period)
		}
	}
}

// Hurry makes the readiness probe due now if it has no verdict yet. It does nothing before
// the first attempt, less than a second after the last one, or if the probe is due
// already. It is called when a status is made, so that a container becomes Ready soon.
func (c *Container) Hurry(now time.Time) {
	p := &c.probes[Readiness]
	if !p.exists || p.reached || p.begun.IsZero() || now.Sub(p.begun) < retrigger || !now.Before(p.due) {
		return
	}
	p.due = now
}

// Stop ends the liveness and the startup probe with Success and appends the changes to
// changes. It is called when the pod begins to terminate: a container that shuts down
// must not be killed for failing them. The readiness probe goes on.
func (c *Container) Stop(changes []Change) []Change {
	for _, k := range [...]Kind{Liveness, Startup} {
		if p := &c.probes[k]; p.exists && !p.ended {
			p.ended = true
			changes = c.set(changes, k, Success)
		}
	}
	return changes
}

// set gives a probe a value and appends a Change if the value is another one.
func (c *Container) set(changes []Change, k Kind, v Value) []Change {
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
