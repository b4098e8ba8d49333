package plan

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
)

// Memory is what one decision about a pod leaves to the next, and the runtime does not store. It
// is a value: Decide takes one and returns the next, the methods return a changed copy and leave
// the original as it is. The zero value is the memory of a process that has just started.
//
// An executor must call RecordAttempt for each step, RecordStage with StageCreated and with StageFailed or
// StageRefused for what it creates and starts, and RecordObservation before each decision. An executor that
// publishes statuses also calls RecordPublished. The other methods are for executors that publish waiting
// reasons, that run hooks, that give a stop a deadline over several calls, that stop containers for
// reasons of their own, or that keep memory on disk.
type Memory struct {
	// Initialized is the ID of the sandbox in which the pod is initialized. Empty: in none,
	// or it is not known. Then the records decide.
	Initialized string

	incarnation uint64 // of the last decision
	policy      backoff.CrashLoop
	pasts       *pasts
	sandbox     sandboxLoop
	stops       map[string]Stop // by container ID; never changed in place
}

// attempt is the last start of a container that was sent to the runtime.
type attempt struct {
	id     string    // empty: there was none
	failed time.Time // when it failed; zero: it did not
}

// refusal is a start that the runtime refuses.
type refusal struct {
	id    string    // empty: there is none
	since time.Time // when it was refused first; zero: for good
}

// maxStartRefusal is how long a refused start is repeated: another start may be under way. After that
// another container takes its place.
const maxStartRefusal = 2 * time.Minute

// exit is the last exit of a container that a record has shown. It is kept when the record is lost. The
// zero value is none.
type exit struct {
	id      string
	attempt uint32
	// at is the time of the exit by the caller's clock, so that setting the clock of the runtime changes no
	// delay. An exit that the runtime reports in the future happened when it was first seen.
	at time.Time
}

// sandboxLoop is the back-off of the sandboxes of a pod. The first replacement of a sandbox that this
// process has created comes at once. The next ones come after a delay that grows like the delay of a
// crash loop.
type sandboxLoop struct {
	id      string // of the newest sandbox that this process has created; empty: there is none
	backoff backoff.State
	counted bool // the replacement of that sandbox is counted
}

// RecordAttempt notes that a step is about to be done. The executor calls it for each step, before
// anything is done for the step, images included. It advances the crash loop of a container
// and of the sandbox: a loop counts attempts, not successes. It records a StopContainer that
// Replaces: the exit of that container does not count, so a container that exits with 0 has not
// succeeded. An executor calls it before a stop of its own for the next attempt, too.
func (m Memory) RecordAttempt(s Step, at time.Time) Memory {
	switch s.Op {
	case StopContainer:
		if s.Replaces {
			return m.markReplaced(s.Name, s.ID)
		}
	case CreateSandbox:
		// Once for each sandbox: a creation that fails is repeated after the backoff of any failure.
		if m.sandbox.id != "" && !m.sandbox.counted {
			m.sandbox.backoff, m.sandbox.counted = m.policy.Next(m.sandbox.backoff, at), true
		}
	case StartContainer:
		past, key := m.pasts.of(s.Name), loopKey(s.Container)
		if past.spec != key {
			past.spec, past.backoff, past.start = key, backoff.State{}, attempt{}
		}
		if past.exit.id != "" {
			past.backoff = m.policy.Next(past.backoff, at)
		}
		m.note(s.Name, past)
	}
	return m
}

// Stage is how far a CreateSandbox or a StartContainer has come.
type Stage uint8

// The stages.
const (
	// StageCreating: the runtime is about to be asked to create the container, or to start a
	// created one. All that the container needs is there.
	StageCreating Stage = iota + 1
	// StageCreated: the runtime has created the sandbox, or is about to be asked to start the
	// container that it has created. The ID is known.
	StageCreated
	// StageFailed: the runtime has not started the container. That one is not started again:
	// another takes its place.
	StageFailed
	// StageRefused: the container was not as the records showed it, so that the runtime did not
	// start it: another start may be under way, or its sandbox is gone. The container is tried
	// again for two minutes. Then another takes its place.
	StageRefused
	// StageNotStarted: the container with the ID has not been started, by ProvesNotStarted of the error, or it
	// was removed before.
	StageNotStarted
	// StagePostStart: the PostStart hook of the container with the ID has begun. The container is not
	// started until StageStarted.
	StagePostStart
	// StageStarted: the PostStart hook has succeeded.
	StageStarted
)

// RecordStage notes how far a step has come. The executor calls it after RecordAttempt, at each stage that
// the step reaches. id is the ID of the sandbox or the container at StageCreated, and of the container at
// the stages after StageRefused. It is ignored at the other stages.
func (m Memory) RecordStage(s Step, stage Stage, id string, at time.Time) Memory {
	if s.Op == CreateSandbox && stage == StageCreated {
		m.sandbox.id, m.sandbox.counted = id, false
	}
	if s.Op != StartContainer {
		return m
	}
	past := m.pasts.of(s.Name)
	switch stage {
	case StageCreating:
		// A container that has started as it is now, and whose exit is not known, counts here.
		if past.exit.id != "" || past.start.id == "" {
			return m
		}
		past.backoff = m.policy.Next(past.backoff, at)
	case StageCreated:
		past.start, past.created = attempt{id: id}, m.newCreation(&s)
		past.unpublished = &unpublishedStart{id: id, attempt: s.Attempt, at: at}
		if s.Container != nil {
			past.unpublished.resources = *s.Container.Resources.DeepCopy()
		}
	case StageFailed:
		past.start.failed, past.refused = at, refusal{id: past.start.id}
	case StageRefused:
		if past.refused.id == past.start.id {
			return m
		}
		past.refused = refusal{past.start.id, at}
	case StageNotStarted:
		if past.unpublished == nil || past.unpublished.id != id {
			return m
		}
		past.unpublished = nil
	case StagePostStart:
		past.postStart = id
	case StageStarted:
		past.postStart = ""
	default:
		return m
	}
	m.note(s.Name, past)
	return m
}

// newCreation returns the values with which the runtime is asked to create the container of a step.
func (m Memory) newCreation(s *Step) creation {
	c := creation{Name: s.Name, SandboxID: s.SandboxID, Attempt: s.Attempt, Incarnation: m.incarnation}
	if s.Container != nil {
		c.Hash = SpecHash(s.Container)
	}
	return c
}

// mayStart reports whether the start of a created container may be tried again. If not, the
// container is removed and another one is created.
func (m Memory) mayStart(container, id string, now time.Time) bool {
	r := m.pasts.of(container).refused
	return r.id != id || !r.since.IsZero() && now.Sub(r.since) < maxStartRefusal
}

// SetWaitingReason notes why the last start of a container failed. Status shows the reason until the
// container runs. The zero Reason clears it.
func (m Memory) SetWaitingReason(container string, why Reason) Memory {
	if past := m.pasts.of(container); past.reason != why {
		past.reason = why
		m.note(container, past)
	}
	return m
}

// WaitingReason returns the reason that SetWaitingReason has recorded of a container.
func (m Memory) WaitingReason(container string) Reason { return m.pasts.of(container).reason }

// markReplaced records that a container is about to be stopped for its next attempt. The exit of
// such a container does not count: a container that then exits with 0 has not succeeded.
func (m Memory) markReplaced(name, id string) Memory {
	if past := m.pasts.of(name); past.replaced != id {
		past.replaced = id
		m.note(name, past)
	}
	return m
}

// isReplaced reports whether the container with an ID, as in a record or a status, was stopped
// for its next attempt.
func (m Memory) isReplaced(name, id string) bool { return m.pasts.isReplaced(name, id) }

// ReplacedContainers returns the names and IDs of the containers that were stopped for their next attempt
// and whose next attempt has not run, by the records of an incarnation that the runtime shows
// now. A process that starts later
// passes a StopContainer that Replaces to RecordAttempt for each of them.
func (m Memory) ReplacedContainers(seen *runtime.PodStatus, incarnation uint64) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		m.pasts.each(func(name string, p *stored) bool {
			id := p.replaced()
			return id == "" || hasSuccessorRun(seen, incarnation, name, id) || yield(name, id)
		})
	}
}

// forgetReplaced forgets the containers whose next attempt has run.
func (m *Memory) forgetReplaced(seen *runtime.PodStatus) {
	for name, past := range m.pasts.all() {
		if id := past.replaced(); id != "" && hasSuccessorRun(seen, m.incarnation, name, id) {
			*m = m.markReplaced(name, "")
		}
	}
}

// hasSuccessorRun reports whether a later attempt than the container with an ID runs, or has run.
func hasSuccessorRun(seen *runtime.PodStatus, incarnation uint64, name, id string) bool {
	if seen == nil {
		return false
	}
	var replaced, newest *runtime.ContainerStatus
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if c.Name != name || c.Incarnation != incarnation {
			continue
		}
		if c.ID == id {
			replaced = c
		}
		if c.State != runtime.StateCreated && (newest == nil || c.Attempt > newest.Attempt) {
			newest = c
		}
	}
	return newest != nil && newest.ID != id && (replaced == nil || newest.Attempt > replaced.Attempt)
}

// note replaces a past.
func (m *Memory) note(container string, p past) { m.pasts = m.pasts.with(container, store(&p)) }

// end returns when the last attempt at a container ended, by the caller's clock. A start that failed ended
// then. An attempt does not end before it began.
func (p *past) end() time.Time {
	end := p.exit.at
	for _, at := range [...]time.Time{p.start.failed, p.backoff.LastStart} {
		if at.After(end) {
			end = at
		}
	}
	return end
}

// observe notes the exits and failures that the records show, and computes the delays after them.
func (d *decision) observe() {
	d.Memory.policy, d.Memory.incarnation = d.CrashLoop, d.Incarnation
	d.Memory.forgetReplaced(d.Status)
	d.Memory.forgetPostStart(d.Status)
	d.Published = d.Memory.withStarts(d.Published, "")
	for i := range d.count {
		e := d.place(i)
		if e.spec == nil {
			continue // An ephemeral container runs once.
		}
		if e.exited != nil {
			d.noteExit(e.exited)
		}
		past := d.Memory.pasts.of(e.spec.Name)
		if past.spec == "" || past.spec != loopKey(e.spec) {
			continue
		}
		d.noteFailure(e, &past)
		if wait := d.CrashLoop.Remaining(past.backoff, past.end(), d.Now); wait > 0 {
			e.heldUntil, e.delay = d.Now.Add(wait), past.backoff.Delay
		}
	}
}

// noteExit notes the last exit of a container, if its record is seen for the first time.
func (d *decision) noteExit(rec *runtime.ContainerStatus) {
	past := d.Memory.pasts.of(rec.Name)
	if rec.ID == past.exit.id || (past.exit.id != "" && rec.Attempt < past.exit.attempt) {
		return
	}
	var age time.Duration
	if !rec.FinishedAt.IsZero() {
		age = max(d.Now.Sub(rec.FinishedAt), 0)
	}
	past.exit = exit{id: rec.ID, attempt: rec.Attempt, at: d.Now.Add(-age)}
	d.Memory.note(rec.Name, past)
}

// noteFailure counts a start that has failed and whose container is still created. A container that exits is
// counted by its exit.
func (d *decision) noteFailure(e *entry, past *past) {
	if past.start.failed.IsZero() || past.backoff.Delay > 0 {
		return
	}
	for rec := range d.all(e) {
		if rec.ID == past.start.id && rec.State == runtime.StateCreated {
			past.backoff = d.CrashLoop.Next(past.backoff, past.start.failed)
			d.Memory.note(rec.Name, *past)
			return
		}
	}
}

// sandboxHeldUntil returns when the next sandbox may be created. Zero: at once.
func (d *decision) sandboxHeldUntil() time.Time {
	b := &d.Memory.sandbox
	if b.id == "" || b.counted {
		return time.Time{}
	}
	if wait := d.CrashLoop.Remaining(b.backoff, b.backoff.LastStart, d.Now); wait > 0 {
		return d.Now.Add(wait)
	}
	return time.Time{}
}

// heldUntil returns the end of the crash-loop delay of a container, and the delay. Zero: it is not delayed.
func (d *decision) heldUntil(c *v1.Container) (time.Time, time.Duration) {
	if e := d.of(c.Name); e != nil && e.spec != nil {
		return e.heldUntil, e.delay
	}
	return time.Time{}, 0
}
