package memory

import (
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/files"
)

// The codes of ends that are not the container's own.
const (
	codeStartError = 128
	codeKilled     = 137
	codeTerm       = 143
)

// container is a record. Its state is not stored: it follows from when it was
// told to start, from how its run goes, and from what time it is.
type container struct {
	id      string
	name    string
	pod     *pod
	sandbox *sandbox
	ref     *runtime.PodRef // of its request; must not be modified
	attempt uint32
	gone    bool  // the record has been removed
	spec    *spec // read without the lock: it stays the same
	// resources are those of spec, or as they were updated last; must not be modified.
	resources *runtime.Resources
	run       *Run                        // must not be modified
	answers   map[runtime.Purpose]Answers // of its annotations
	created   time.Time
	start     time.Time // when it runs, or will; zero: it has not been told to
	end       *ending   // nil: it never ends by itself
	next      time.Time
	index     int      // in the heap, if next is not zero
	used      *visited // nil: nobody has
}

// visited is what a container has that somebody has used: few have.
type visited struct {
	waiters []executor.Event
	lines   []Line        // of its log; nil: nobody has asked
	logged  int           // bytes of lines beside those of its run
	files   *files.Tree   // nil: no process has run in it
	talk    *conversation // nil: no client with input is attached
}

// uses is used, which it makes if there is none.
func (c *container) uses() *visited {
	if c.used == nil {
		c.used = &visited{}
	}
	return c.used
}

// ending is how a container ends, has ended or would end if nobody interferes.
type ending struct {
	at      time.Time
	code    int32
	reason  string
	message string
}

// state computes the state at a time.
func (c *container) state(now time.Time) runtime.State {
	switch {
	case c.end != nil && !c.end.at.After(now):
		return runtime.StateExited
	case !c.start.IsZero() && !c.start.After(now):
		return runtime.StateRunning
	}
	return runtime.StateCreated
}

// change is when the state will change next if nobody interferes; zero is
// never.
func (c *container) change(now time.Time) time.Time {
	if c.gone {
		return time.Time{}
	}
	switch c.state(now) {
	case runtime.StateCreated:
		return c.start
	case runtime.StateRunning:
		return c.ends()
	}
	return time.Time{}
}

// ends is when it ends or has ended; zero is never.
func (c *container) ends() time.Time {
	if c.end == nil {
		return time.Time{}
	}
	return c.end.at
}

// begin tells the container to start.
func (c *container) begin(now time.Time, run *Run) {
	c.run = run
	if run.Fail == FailStart {
		c.end = &ending{now, codeStartError, "StartError", "memory: the script says fail=start"}
		return
	}
	c.start = now.Add(run.StartDelay)
	if !run.Forever {
		c.endItself(c.start.Add(run.For))
	}
}

// term delivers a TERM and, unless it ends by then, a kill after the grace.
func (c *container) term(now time.Time, grace time.Duration) {
	switch {
	case grace <= 0 || c.state(now) != runtime.StateRunning: // it cannot handle signals yet
		c.kill(now)
	case c.run.IgnoreTerm:
		c.endAt(now.Add(grace), codeKilled)
	case c.run.Graceful:
		c.endItself(now)
	default:
		c.endAt(now, codeTerm)
	}
}

// kill ends the container, or the attempt to start it, now.
func (c *container) kill(now time.Time) { c.endAt(now, codeKilled) }

// endItself ends the container in the way its run says, at a time by which it
// would not have ended otherwise.
func (c *container) endItself(at time.Time) {
	c.endAt(at, c.run.Exit)
	c.end.message = c.run.Message
	if c.run.Reason != "" {
		c.end.reason = c.run.Reason
	}
}

// endAt ends the container at a time, unless it ends earlier anyway.
func (c *container) endAt(at time.Time, code int32) {
	if c.end != nil && !at.Before(c.end.at) {
		return
	}
	c.end = &ending{at: at, code: code, reason: "Error"}
	if code == 0 {
		c.end.reason = "Completed"
	}
}

// alive reports whether the container runs or is about to.
func (c *container) alive(now time.Time) bool {
	return !c.start.IsZero() && c.state(now) != runtime.StateExited
}

// shallow is the record as ListPods shows it.
func (c *container) shallow(now time.Time) runtime.Container {
	return runtime.Container{
		ID:          c.id,
		Name:        c.name,
		SandboxID:   c.sandbox.id,
		Attempt:     c.attempt,
		Incarnation: c.ref.Incarnation,
		State:       c.state(now),
	}
}

// status is the record in full.
func (c *container) status(now time.Time) runtime.ContainerStatus {
	s := runtime.ContainerStatus{
		Container:     c.shallow(now),
		Image:         c.spec.image,
		ImageRef:      c.spec.imageRef,
		CreatedAt:     c.created,
		Annotations:   c.spec.annotations,
		MountedImages: c.spec.mountedImages,
	}
	exited := s.State == runtime.StateExited
	if s.State == runtime.StateRunning || exited && !c.start.IsZero() && !c.start.After(c.end.at) {
		s.StartedAt = c.start
	}
	if exited {
		s.FinishedAt, s.ExitCode, s.Reason, s.Message = c.end.at, c.end.code, c.end.reason, c.end.message
	}
	return s
}

// transitions is the heap of containers by the time of their next change.
type transitions []*container

func (t transitions) Len() int { return len(t) }

// Less breaks ties by identity, so that no order depends on the heap's history.
func (t transitions) Less(i, j int) bool {
	if !t[i].next.Equal(t[j].next) {
		return t[i].next.Before(t[j].next)
	}
	return t[i].id < t[j].id
}

func (t transitions) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

// Push implements heap.Interface.
func (t *transitions) Push(x any) {
	c := x.(*container)
	c.index = len(*t)
	*t = append(*t, c)
}

// Pop implements heap.Interface.
func (t *transitions) Pop() any {
	last := len(*t) - 1
	c := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return c
}
