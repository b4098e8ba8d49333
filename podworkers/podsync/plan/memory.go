package plan

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
)

// Memory is what has to be remembered of one incarnation of a pod from one decision to
// the next, and is not to be seen in the runtime. It is a value: Decide takes one and
// answers the next, the methods return a changed copy and leave the original as it is. The
// zero value is the memory of a process that has just started.
type Memory struct {
	// Initialized is the ID of the sandbox in which the pod is initialized. Empty: in none,
	// or it is not known. Then the records decide.
	Initialized string

	policy  backoff.CrashLoop
	pasts   *pasts
	sandbox sandboxLoop
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

// maxStartRefusal is how long a start is refused because another is under way until that
// is not believed any more. It is tried less and less often meanwhile.
const maxStartRefusal = 2 * time.Minute

// exit is the last end of a container that was seen: it is remembered when the
// record is lost. The zero value: none was.
type exit struct {
	id      string
	attempt uint32
	// at is when it ended, as told when it was first seen; then, if that was said
	// to be in the future. It is a reading of the caller's clock, so that setting the
	// runtime's moves no delay.
	at time.Time
}

// sandboxLoop is where a pod is in the loop of its sandboxes: the first replacement of
// one that was made here comes at once, the next ones after a delay that grows as that
// of a crash loop.
type sandboxLoop struct {
	id      string // of the newest that was made here; empty: none was
	backoff backoff.State
	counted bool // its replacement is counted
}

// Attempted notes that a step is about to be tried. The executor calls it for each
// CreateSandbox and StartContainer, before anything is done for it, images included; for
// other steps nothing changes. A crash loop advances here, and not where an attempt
// succeeds.
func (m Memory) Attempted(s Step, at time.Time) Memory {
	switch s.Op {
	case CreateSandbox:
		// Once for each sandbox: one that fails is tried again after the backoff of any failure.
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

// Creating notes that the runtime is about to be asked to create the container of a step,
// or to start one of its Created: all else that it needs is there. It counts a start of a
// container that was started before as it is now, and of which no end is known.
func (m Memory) Creating(s Step, at time.Time) Memory {
	if past := m.pasts.of(s.Name); past.exit.id == "" && past.start.id != "" {
		past.backoff = m.policy.Next(past.backoff, at)
		m.note(s.Name, past)
	}
	return m
}

// Made notes the ID of what a step has made: of the sandbox, when the runtime has made it,
// or of the container, when it is about to be started.
func (m Memory) Made(s Step, id string) Memory {
	switch s.Op {
	case CreateSandbox:
		m.sandbox.id, m.sandbox.counted = id, false
	case StartContainer:
		past := m.pasts.of(s.Name)
		past.start = attempt{id: id}
		m.note(s.Name, past)
	}
	return m
}

// Created notes what the runtime has created a container with.
func (m Memory) Created(made Made) Memory {
	past := m.pasts.of(made.Name)
	past.created = made
	m.note(made.Name, past)
	return m
}

// Failed notes that the runtime has refused to start the container that was Made. That one
// is not started any more, another takes its place.
func (m Memory) Failed(s Step, at time.Time) Memory {
	past := m.pasts.of(s.Name)
	past.start.failed, past.refused = at, refusal{id: past.start.id}
	m.note(s.Name, past)
	return m
}

// Refused notes that the container that was Made was not as it was seen, so that the
// runtime did not start it: another start may be under way, or its sandbox is gone. If
// that goes on for two minutes another container takes its place.
func (m Memory) Refused(s Step, at time.Time) Memory {
	if past := m.pasts.of(s.Name); past.refused.id != past.start.id {
		past.refused = refusal{past.start.id, at}
		m.note(s.Name, past)
	}
	return m
}

// MayStart reports whether the start of a container that was created, and never ran, may be
// tried again. If not it has to be removed, and another one created.
func (m Memory) MayStart(container, id string, now time.Time) bool {
	r := m.pasts.of(container).refused
	return r.id != id || !r.since.IsZero() && now.Sub(r.since) < maxStartRefusal
}

// Waiting notes why the last start of a container failed, which its status tells. The zero
// Reason: it did not.
func (m Memory) Waiting(container string, why Reason) Memory {
	if past := m.pasts.of(container); past.reason != why {
		past.reason = why
		m.note(container, past)
	}
	return m
}

// Reason is why the last start of a container failed, as Waiting was told.
func (m Memory) Reason(container string) Reason { return m.pasts.of(container).reason }

// Replacing notes that the container with a name and an ID is about to be told to end for
// the sake of its next attempt. The executor calls it before each StopContainer whose
// Reason.Replaces, and for what it stops itself for that. How such a container ends is no
// answer of its own: one that ends with 0 has not succeeded.
func (m Memory) Replacing(name, id string) Memory {
	if past := m.pasts.of(name); past.replaced != id {
		past.replaced = id
		m.note(name, past)
	}
	return m
}

// Succeeded notes that the next attempt at a container of Replacing has run.
func (m Memory) Succeeded(name string) Memory { return m.Replacing(name, "") }

// IsReplaced reports whether a container with an ID, as in a record or a status, was told to
// end for the sake of its next attempt, as Replacing was told.
func (m Memory) IsReplaced(name, id string) bool { return m.pasts.isReplaced(name, id) }

// Replaced are the names and IDs of the containers of which Replacing was told, and
// Succeeded not yet.
func (m Memory) Replaced() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		m.pasts.each(func(name string, p *stored) bool { return p.replaced() == "" || yield(name, p.replaced()) })
	}
}

// note replaces a past.
func (m *Memory) note(container string, p past) { m.pasts = m.pasts.with(container, store(&p)) }

// end is when the last attempt at a container ended, on the caller's clock: one that has
// failed did so then, and none ended before it began.
func (p *past) end() time.Time {
	end := p.exit.at
	for _, at := range [...]time.Time{p.start.failed, p.backoff.LastStart} {
		if at.After(end) {
			end = at
		}
	}
	return end
}

// observe notes ends and failures that the records show, and what is delayed by them.
func (d *decision) observe() {
	d.Memory.policy = d.CrashLoop
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

// noteExit remembers the last end of a container, if the record of that is seen
// for the first time.
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

// noteFailure counts a start that has failed and has left the record created: what exits
// counts by its end.
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

// sandboxHeldUntil is when the next sandbox may be made. Zero: at once.
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

// heldUntil is the end of the crash-loop delay of a container. Zero: it is not delayed.
func (d *decision) heldUntil(c *v1.Container) (time.Time, time.Duration) {
	if e := d.of(c.Name); e != nil && e.spec != nil {
		return e.heldUntil, e.delay
	}
	return time.Time{}, 0
}
