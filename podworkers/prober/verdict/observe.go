package verdict

import "time"

// Observe processes an observation of the container and appends the changed verdicts to changes.
// For another ID, or a container that runs again, every probe gets its initial verdict, which is
// not a Change. If the container has stopped running, or has lost its ID, each verdict becomes
// Failure, except the verdicts that StopLivenessAndStartup has set.
func (c *Container) Observe(f Facts, now time.Time, changes []Change) []Change {
	if f.ID == "" {
		if !c.running {
			return changes // PR-6
		}
		f.ID, f.Running = c.id, false // The container has vanished.
	}
	if f.ID != c.id || f.Running && !c.running {
		c.resetForNewContainer(f, now)
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
		if p := &c.probes[k]; p.exists && !p.stopped {
			changes = c.setVerdictAndAppendChange(changes, Kind(k), Failure)
		}
	}
	return changes
}

// resetForNewContainer resets all probes for a new container, or for a container that runs again: each gets its
// initial verdict and its first due time. Results of earlier attempts are dropped from then on (PR-5).
func (c *Container) resetForNewContainer(f Facts, now time.Time) {
	c.id, c.running, c.started, c.startedAt = f.ID, false, f.Started, f.StartedAt
	c.generation++
	for k := range c.probes {
		p := &c.probes[k]
		p.hasVerdict, p.last, p.outcomesInRow, p.onHold = false, Unknown, 0, false
		p.attempting, p.begun = false, time.Time{}
		p.value = c.initialVerdict(Kind(k), f)
		p.due = c.firstDue(p, now)
	}
}

// initialVerdict returns the verdict of a probe before its first result in a container (PR-2). A missing probe has
// Unknown. A liveness probe has Success, and so has any probe that is stopped. A startup probe has Success if the
// published status says Started, else Unknown. A readiness probe has Failure. It has Success instead if the
// published status says Ready and the container started more than publishedReadinessAge before this process. A
// restart of the agent therefore makes no pod unready (PR-5).
func (c *Container) initialVerdict(k Kind, f Facts) Value {
	p := &c.probes[k]
	old := !f.StartedAt.IsZero() && f.StartedAt.Add(publishedReadinessAge).Before(c.agentStart)
	switch {
	case !p.exists:
		return Unknown
	case p.stopped || k == Liveness:
		return Success
	case k == Startup && f.Started, k == Readiness && f.Ready && old:
		return Success
	case k == Readiness:
		return Failure
	}
	return Unknown
}

// firstDue returns the time of the first attempt of a probe. That is the start of the container plus the
// initial delay, but not before now (PR-9). If the process is younger than one period and the container is
// older than the process, the first attempt comes no earlier than a random part of the period from now (PR-3).
func (c *Container) firstDue(p *probe, now time.Time) time.Time {
	// A clock that was set back must not make this longer than it is.
	wait := min(c.startedAt.Add(p.spec.InitialDelay).Sub(now), p.spec.InitialDelay)
	if c.startedAt.Before(c.agentStart) && now.Sub(c.agentStart) < p.spec.Period {
		wait = max(wait, p.spread)
	}
	return now.Add(max(wait, 0))
}

// FinishAttempt ends an attempt of a generation and appends the changed verdicts to changes. The
// verdict changes after Spec.Successes or Spec.Failures equal outcomes in a row. Unknown means that
// the attempt had no result: it neither counts nor interrupts the row. FinishAttempt ignores an
// outcome of an earlier generation, of an abandoned attempt, of a container that no longer runs,
// and after StopLivenessAndStartup.
func (c *Container) FinishAttempt(k Kind, generation uint64, outcome Value, now time.Time, changes []Change) []Change {
	p := &c.probes[k]
	if generation != c.generation || !p.attempting {
		return changes
	}
	p.attempting = false
	if p.due.Before(now) {
		p.due = nextTick(p.due, now, p.spec.Period) // The attempt took longer than the period.
	}
	if p.stopped || !c.running || outcome == Unknown {
		return changes // PR-11
	}
	if outcome != p.last {
		p.last, p.outcomesInRow = outcome, 0
	}
	p.outcomesInRow++
	if outcome == Success && p.outcomesInRow < p.spec.Successes || outcome == Failure && p.outcomesInRow < p.spec.Failures {
		return changes // PR-12
	}
	return c.applyVerdict(k, outcome, now, changes)
}

// applyVerdict sets the verdict of a probe after enough equal outcomes, and appends a Change to changes. A
// startup probe with a verdict, and a failed liveness probe, make no more attempts in this container (PR-13).
// After a startup success the other probes are due no earlier than now (PR-10).
func (c *Container) applyVerdict(k Kind, v Value, now time.Time, changes []Change) []Change {
	p := &c.probes[k]
	p.hasVerdict = true
	p.outcomesInRow = min(p.outcomesInRow, max(p.spec.Successes, p.spec.Failures)) // A higher count has no effect.
	changes = c.setVerdictAndAppendChange(changes, k, v)
	if k == Startup || k == Liveness && v == Failure {
		p.onHold, p.outcomesInRow = true, 0 // PR-13
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
