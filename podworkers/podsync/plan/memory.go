package plan

import (
	"maps"
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
	// Replaced are the containers that were told to end for the sake of the next attempt. It
	// is only read; Replacing and Succeeded change it.
	Replaced Replaced

	policy  backoff.CrashLoop
	loops   map[string]loop // by container; never written to in place
	sandbox sandboxLoop
}

// loop is where a container is in its crash loop. Another image, or other
// resources, begin another loop.
type loop struct {
	spec    string
	backoff backoff.State
	exit    exit
	start   attempt
}

// attempt is the last start of a container that was sent to the runtime.
type attempt struct {
	id     string    // empty: there was none
	failed time.Time // when it failed; zero: it did not
}

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
		past, key := m.loops[s.Name], loopKey(s.Container)
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
	if past := m.loops[s.Name]; past.exit.id == "" && past.start.id != "" {
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
		past := m.loops[s.Name]
		past.start = attempt{id: id}
		m.note(s.Name, past)
	}
	return m
}

// Failed notes that the runtime has refused to start the container that was Made.
func (m Memory) Failed(s Step, at time.Time) Memory {
	past := m.loops[s.Name]
	past.start.failed = at
	m.note(s.Name, past)
	return m
}

// Replacing notes that the container with a name and an ID is about to be told to end for
// the sake of its next attempt. The executor calls it before each StopContainer whose
// Reason.Replaces, and for what it stops itself for that.
func (m Memory) Replacing(name, id string) Memory {
	m.Replaced = maps.Clone(m.Replaced)
	if m.Replaced == nil {
		m.Replaced = make(Replaced)
	}
	m.Replaced[name] = id
	return m
}

// Succeeded notes that the next attempt at a container of Replaced has run.
func (m Memory) Succeeded(name string) Memory {
	m.Replaced = maps.Clone(m.Replaced)
	delete(m.Replaced, name)
	return m
}

// Started is the ID of the attempt at a container that was started last, as Made was told.
// Empty: none was, as it is now.
func (m Memory) Started(container string) string { return m.loops[container].start.id }

// Sandbox is the ID of the sandbox that was made last, as Made was told, and whether its
// replacements are delayed by now. Empty: none was.
func (m Memory) Sandbox() (id string, delayed bool) {
	return m.sandbox.id, m.sandbox.backoff.Delay > 0
}

// remember is note for several loops, with one copy of them for all.
func (d *decision) remember(container string, past loop) {
	if !d.copied {
		d.copied = true
		d.Memory.note(container, past)
	}
	d.Memory.loops[container] = past
}

// note replaces a loop in a copy.
func (m *Memory) note(container string, past loop) {
	loops := make(map[string]loop, len(m.loops)+1)
	maps.Copy(loops, m.loops)
	loops[container] = past
	m.loops = loops
}

// end is when the last attempt at a container ended, on the caller's clock: one that has
// failed did so then, and none ended before it began.
func (l *loop) end() time.Time {
	end := l.exit.at
	for _, at := range [...]time.Time{l.start.failed, l.backoff.LastStart} {
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
		past, ok := d.Memory.loops[e.spec.Name]
		if !ok || past.spec != loopKey(e.spec) {
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
	past := d.Memory.loops[rec.Name]
	if rec.ID == past.exit.id || (past.exit.id != "" && rec.Attempt < past.exit.attempt) {
		return
	}
	var age time.Duration
	if !rec.FinishedAt.IsZero() {
		age = max(d.Now.Sub(rec.FinishedAt), 0)
	}
	past.exit = exit{id: rec.ID, attempt: rec.Attempt, at: d.Now.Add(-age)}
	d.remember(rec.Name, past)
}

// noteFailure counts a start that has failed and has left the record created: what exits
// counts by its end.
func (d *decision) noteFailure(e *entry, past *loop) {
	if past.start.failed.IsZero() || past.backoff.Delay > 0 {
		return
	}
	for rec := range d.all(e) {
		if rec.ID == past.start.id && rec.State == runtime.StateCreated {
			past.backoff = d.CrashLoop.Next(past.backoff, past.start.failed)
			d.remember(rec.Name, *past)
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
