package verdict

import "time"

// Observe takes an observation of the container and appends what it changes to changes.
// Another ID, or a container that runs again, starts over: every probe gets its initial
// value, which is not among the changes. If the container has stopped running, or has no
// ID any more, each of its probes that Stop has not ended becomes a Failure.
func (c *Container) Observe(f Facts, now time.Time, changes []Change) []Change {
	if f.ID == "" {
		if !c.running {
			return changes // PR-6: no news.
		}
		f.ID, f.Running = c.id, false // It has vanished.
	}
	if f.ID != c.id || f.Running && !c.running {
		c.begin(f, now)
	}
	c.started = c.started || f.Started
	if c.running == f.Running && f.Running {
		return changes
	}
	c.running = f.Running
	if f.Running {
		return changes
	}
	for k := range c.probes { // PR-7
		if p := &c.probes[k]; p.exists && !p.ended {
			changes = c.set(changes, Kind(k), Failure)
		}
	}
	return changes
}

// begin forgets one container and begins with another (PR-5).
func (c *Container) begin(f Facts, now time.Time) {
	c.id, c.running, c.started, c.startedAt = f.ID, false, f.Started, f.StartedAt
	c.generation++
	for k := range c.probes {
		p := &c.probes[k]
		p.reached, p.last, p.run, p.hold = false, Unknown, 0, false
		p.attempting, p.begun = false, time.Time{}
		p.value = c.initial(Kind(k), f)
		p.due = c.first(p, now)
	}
}

// initial is what is believed of a new container (PR-2). One that was there
// long before this process is believed to be what was published of it, so that
// an agent's restart makes nobody unready (PR-5).
func (c *Container) initial(k Kind, f Facts) Value {
	p := &c.probes[k]
	old := !f.StartedAt.IsZero() && f.StartedAt.Add(before).Before(c.agentStart)
	switch {
	case !p.exists:
		return Unknown
	case p.ended || k == Liveness:
		return Success
	case k == Startup && f.Started, k == Readiness && f.Ready && old:
		return Success
	case k == Readiness:
		return Failure
	}
	return Unknown
}

// first is when a probe is due for the first time in a container: not before
// its initial delay (PR-9), and spread over a period if the container is one of
// those that this process found when it began (PR-3).
func (c *Container) first(p *probe, now time.Time) time.Time {
	// A clock that was set back must not make this longer than it is.
	wait := min(c.startedAt.Add(p.spec.InitialDelay).Sub(now), p.spec.InitialDelay)
	if c.startedAt.Before(c.agentStart) && now.Sub(c.agentStart) < p.spec.Period {
		wait = max(wait, p.spread)
	}
	return now.Add(max(wait, 0))
}

// Finish ends an attempt that began in this generation and appends what its outcome changes to
// changes. The verdict changes after Spec.Successes or Spec.Failures equal outcomes
// in a row. Unknown means that the attempt had no answer: it neither counts nor interrupts
// the row. An outcome is dropped if its generation is over, if the attempt was
// abandoned, if the container does not run any more, and after Stop.
func (c *Container) Finish(k Kind, generation uint64, outcome Value, now time.Time, changes []Change) []Change {
	p := &c.probes[k]
	if generation != c.generation || !p.attempting {
		return changes
	}
	p.attempting = false
	if p.due.Before(now) {
		p.due = nextTick(p.due, now, p.spec.Period) // It outlasted its period.
	}
	if p.ended || !c.running || outcome == Unknown {
		return changes // PR-11
	}
	if outcome != p.last {
		p.last, p.run = outcome, 0
	}
	p.run++
	if outcome == Success && p.run < p.spec.Successes || outcome == Failure && p.run < p.spec.Failures {
		return changes // PR-12
	}
	return c.reach(k, outcome, now, changes)
}

// reach is a verdict.
func (c *Container) reach(k Kind, v Value, now time.Time, changes []Change) []Change {
	p := &c.probes[k]
	p.reached = true
	p.run = min(p.run, max(p.spec.Successes, p.spec.Failures)) // It need not count for ever.
	changes = c.set(changes, k, v)
	if k == Startup || k == Liveness && v == Failure {
		p.hold, p.run = true, 0 // PR-13
	}
	if k == Startup && v == Success {
		for _, gated := range [...]Kind{Liveness, Readiness} { // PR-10
			if g := &c.probes[gated]; g.due.Before(now) {
				g.due = now
			}
		}
	}
	return changes
}
