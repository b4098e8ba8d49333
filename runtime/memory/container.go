package memory

import (
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/files"
)

// The codes of ends that are not the container's own.
const (
	exitCodeStartError = 128
	exitCodeKilled     = 137
	exitCodeTerm       = 143
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
	removed bool           // the record has been removed
	spec    *containerSpec // read without the lock: it stays the same
	// resources are those of spec, or as they were updated last; must not be modified.
	resources  *runtime.Resources
	run        *Run                        // must not be modified
	answers    map[runtime.Purpose]Answers // of its annotations
	created    time.Time
	startAt    time.Time   // when it runs, or will; zero: it has not been told to
	exit       *exitRecord // nil: it never ends by itself
	nextChange time.Time
	heapIndex  int              // in the heap, if next is not zero
	extras     *containerExtras // nil: nobody has
}

// containerExtras is what a container has that somebody has used: few have.
type containerExtras struct {
	waiters        []executor.Event
	lines          []Line         // of its log; nil: nobody has asked
	attachLogBytes int            // bytes of lines beside those of its run
	files          *files.Tree    // nil: no process has run in it
	session        *attachSession // nil: no client with input is attached
}

// ensureExtras is used, which it makes if there is none.
func (c *container) ensureExtras() *containerExtras {
	if c.extras == nil {
		c.extras = &containerExtras{}
	}
	return c.extras
}

// exitRecord is how a container ends, has ended or would end if nobody interferes.
type exitRecord struct {
	at      time.Time
	code    int32
	reason  string
	message string
}

// state computes the state at a time.
func (c *container) state(now time.Time) runtime.State {
	switch {
	case c.exit != nil && !c.exit.at.After(now):
		return runtime.StateExited
	case !c.startAt.IsZero() && !c.startAt.After(now):
		return runtime.StateRunning
	}
	return runtime.StateCreated
}

// nextStateChange is when the state will change next if nobody interferes; zero is
// never.
func (c *container) nextStateChange(now time.Time) time.Time {
	if c.removed {
		return time.Time{}
	}
	switch c.state(now) {
	case runtime.StateCreated:
		return c.startAt
	case runtime.StateRunning:
		return c.exitTime()
	}
	return time.Time{}
}

// exitTime is when it ends or has ended; zero is never.
func (c *container) exitTime() time.Time {
	if c.exit == nil {
		return time.Time{}
	}
	return c.exit.at
}

// startRun tells the container to start.
func (c *container) startRun(now time.Time, run *Run) {
	c.run = run
	if run.Fail == FailStart {
		c.exit = &exitRecord{now, exitCodeStartError, "StartError", "memory: the script says fail=start"}
		return
	}
	c.startAt = now.Add(run.StartDelay)
	if !run.Forever {
		c.exitByRun(c.startAt.Add(run.For))
	}
}

// terminate delivers a TERM and, unless it ends by then, a kill after the grace.
func (c *container) terminate(now time.Time, grace time.Duration) {
	switch {
	case grace <= 0 || c.state(now) != runtime.StateRunning: // it cannot handle signals yet
		c.kill(now)
	case c.run.IgnoreTerm:
		c.exitAt(now.Add(grace), exitCodeKilled)
	case c.run.Graceful:
		c.exitByRun(now)
	default:
		c.exitAt(now, exitCodeTerm)
	}
}

// kill ends the container, or the attempt to start it, now.
func (c *container) kill(now time.Time) { c.exitAt(now, exitCodeKilled) }

// exitByRun ends the container in the way its run says, at a time by which it
// would not have ended otherwise.
func (c *container) exitByRun(at time.Time) {
	c.exitAt(at, c.run.Exit)
	c.exit.message = c.run.Message
	if c.run.Reason != "" {
		c.exit.reason = c.run.Reason
	}
}

// exitAt ends the container at a time, unless it ends earlier anyway.
func (c *container) exitAt(at time.Time, code int32) {
	if c.exit != nil && !at.Before(c.exit.at) {
		return
	}
	c.exit = &exitRecord{at: at, code: code, reason: "Error"}
	if code == 0 {
		c.exit.reason = "Completed"
	}
}

// isStartingOrRunning reports whether the container runs or is about to.
func (c *container) isStartingOrRunning(now time.Time) bool {
	return !c.startAt.IsZero() && c.state(now) != runtime.StateExited
}

// listEntry is the record as ListPods shows it.
func (c *container) listEntry(now time.Time) runtime.Container {
	return runtime.Container{
		ID:          c.id,
		Name:        c.name,
		SandboxID:   c.sandbox.id,
		Attempt:     c.attempt,
		Incarnation: c.ref.Incarnation,
		State:       c.state(now),
	}
}

// cachedStatus is the record in full.
func (c *container) status(now time.Time) runtime.ContainerStatus {
	s := runtime.ContainerStatus{
		Container:     c.listEntry(now),
		Image:         c.spec.image,
		ImageRef:      c.spec.imageRef,
		CreatedAt:     c.created,
		Annotations:   c.spec.annotations,
		MountedImages: c.spec.mountedImages,
	}
	exited := s.State == runtime.StateExited
	if s.State == runtime.StateRunning || exited && !c.startAt.IsZero() && !c.startAt.After(c.exit.at) {
		s.StartedAt = c.startAt
	}
	if exited {
		s.FinishedAt, s.ExitCode, s.Reason, s.Message = c.exit.at, c.exit.code, c.exit.reason, c.exit.message
	}
	return s
}

// changeHeap is the heap of containers by the time of their next change.
type changeHeap []*container

func (t changeHeap) Len() int { return len(t) }

// Less breaks ties by identity, so that no order depends on the heap's history.
func (t changeHeap) Less(i, j int) bool {
	if !t[i].nextChange.Equal(t[j].nextChange) {
		return t[i].nextChange.Before(t[j].nextChange)
	}
	return t[i].id < t[j].id
}

func (t changeHeap) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].heapIndex, t[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (t *changeHeap) Push(x any) {
	c := x.(*container)
	c.heapIndex = len(*t)
	*t = append(*t, c)
}

// Pop implements heap.Interface.
func (t *changeHeap) Pop() any {
	last := len(*t) - 1
	c := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return c
}
