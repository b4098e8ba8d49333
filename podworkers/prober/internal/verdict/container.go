package verdict

import "time"

// before is how much earlier than the agent a container must have started for
// its published readiness to be believed (PR-5).
const before = 10 * time.Second

// retrigger is the least time between two attempts of which the later was
// asked for by Hurry.
const retrigger = time.Second

// Container is one container with its probes. The zero value has none; Make and
// Add make others. It is a value: a copy is another container in the same state.
type Container struct {
	agentStart time.Time
	probes     [Kinds]probe

	id         string
	generation uint64 // of the id: outcomes of another one are too late
	running    bool
	startedAt  time.Time
	started    bool // as published (PR-15)
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

// Change is a value that has become another one and has to be told.
type Change struct {
	Kind  Kind
	ID    string // of the container
	Value Value
}

// Facts is what is known of a container.
type Facts struct {
	ID        string // empty: nothing is known now
	Running   bool
	StartedAt time.Time
	Started   bool // as published last
	Ready     bool // as published last
}

// Make makes a container without probes. agentStart is when this process began.
func Make(agentStart time.Time) Container { return Container{agentStart: agentStart} }

// Add adds a probe, unless there is one of the kind (PR-1). spread, a number in
// [0,1), is where in its first period it begins in a container that is older
// than this process (PR-3).
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

// ID is the container that is probed; empty if none is known yet.
func (c *Container) ID() string { return c.id }

// Generation changes with every container that takes the place of another.
// Begin's caller remembers it for Finish.
func (c *Container) Generation() uint64 { return c.generation }

// Exists reports whether there is a probe of the kind, ended or not.
func (c *Container) Exists(k Kind) bool { return c.probes[k].exists }

// Value is what is believed by the probe of the kind, of the container with
// the ID; Unknown if there is no such probe or that is another container.
func (c *Container) Value(k Kind, id string) Value {
	if id == "" || id != c.id {
		return Unknown
	}
	return c.probes[k].value
}

// Due is when the probe is due next; false if it is not until something
// happens (PR-6, PR-7, PR-10, PR-13).
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

// isStarted is the gate of liveness and readiness (PR-10, PR-15).
func (c *Container) isStarted() bool {
	p := &c.probes[Startup]
	if !p.exists || p.value == Success {
		return true
	}
	return p.value == Unknown && c.started
}

// Started is what is to be published for a running container (PR-15).
func (c *Container) Started(id string) bool {
	return !c.probes[Startup].exists || id != "" && id == c.id && c.isStarted()
}

// Ready is the same for one that has started (PR-16).
func (c *Container) Ready(id string) bool {
	return !c.probes[Readiness].exists || c.Value(Readiness, id) == Success
}

// Begin notes that an attempt begins, and when the next one is due.
func (c *Container) Begin(k Kind, now time.Time) {
	p := &c.probes[k]
	p.attempting, p.begun = true, now
	p.due = nextTick(p.due, now, p.spec.Period)
}

// Abandon takes back that an attempt runs: nobody waits for its outcome.
func (c *Container) Abandon(k Kind) { c.probes[k].attempting = false }

// Skip leaves out the ticks that have passed: the process was stopped, and
// what became due meanwhile did so all at once (F78).
func (c *Container) Skip(now time.Time) {
	for k := range c.probes {
		if p := &c.probes[k]; p.exists {
			p.due = nextTick(p.due, now, p.spec.Period)
		}
	}
}

// Hurry makes the readiness probe due now if it has not answered yet (PR-14),
// unless it was tried a moment ago or its initial delay has not passed.
func (c *Container) Hurry(now time.Time) {
	p := &c.probes[Readiness]
	if !p.exists || p.reached || p.begun.IsZero() || now.Sub(p.begun) < retrigger || !now.Before(p.due) {
		return
	}
	p.due = now
}

// Stop ends liveness and startup with success: a container that is being
// stopped is not to be killed for being slow (PR-8). Readiness goes on.
func (c *Container) Stop(changes []Change) []Change {
	for _, k := range [...]Kind{Liveness, Startup} {
		if p := &c.probes[k]; p.exists && !p.ended {
			p.ended = true
			changes = c.set(changes, k, Success)
		}
	}
	return changes
}

// set gives a probe a value and appends it to changes if that is news.
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
