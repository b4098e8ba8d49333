package memory

import (
	"time"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/files"
)

// Exit codes of containers that did not exit by themselves.
const (
	exitCodeStartError = 128
	exitCodeKilled     = 137
	exitCodeTerm       = 143
)

// container is a container record. It does not store its state. The state follows from the start
// time, the exit time and the current time.
type container struct {
	id      string
	name    string
	pod     *pod
	sandbox *sandbox
	ref     *runtime.PodRef // the PodRef of its request; must not be modified
	attempt uint32
	removed bool           // its record has been removed
	spec    *containerSpec // never modified, so it is read without the lock
	// resources are the resources of the request or of the last UpdateContainer; must not be
	// modified.
	resources  *runtime.Resources
	run        *Run                        // must not be modified
	answers    map[runtime.Purpose]Answers // from its annotations
	created    time.Time
	startAt    time.Time        // when it enters StateRunning, perhaps in the future; zero: StartContainer was not called
	exit       *exitRecord      // its exit, perhaps in the future; nil: it runs until it is stopped
	nextChange time.Time        // the time of its next state change; zero: it is not in the heap
	heapIndex  int              // in the heap, if nextChange is not zero
	extras     *containerExtras // nil for most containers
}

// containerExtras is the part of a container that only some containers need. A container without
// waiters, log readers and processes has none, which keeps idle containers small.
type containerExtras struct {
	// waiters are signalled after each state change.
	waiters        []executor.Event
	stops          []time.Time    // when the calls of StopContainer that wait kill the container
	lines          []Line         // of its log; nil: not computed yet
	attachLogBytes int            // bytes in lines that an interactive command printed
	files          *files.Tree    // nil: no process has run in it
	session        *attachSession // nil: no client with stdin is attached
}

// freeUnusedExtras deletes the container's extras if they are unused.
func (c *container) freeUnusedExtras() {
	if e := c.extras; e != nil && len(e.waiters) == 0 && len(e.stops) == 0 && e.lines == nil && e.attachLogBytes == 0 && e.files == nil && e.session == nil {
		c.extras = nil
	}
}

// ensureExtras returns the container's extras (its log, files, waiters and attach session), and creates them if
// the container has none.
func (c *container) ensureExtras() *containerExtras {
	if c.extras == nil {
		c.extras = &containerExtras{}
	}
	return c.extras
}

// exitRecord is the exit of a container, in the past or in the future. A stop may replace a future
// one.
type exitRecord struct {
	at      time.Time
	code    int32
	reason  string
	message string
	// isOOMKill: a change of the memory in the container's script causes the exit. A higher limit
	// cancels it, and replaced happens instead.
	isOOMKill bool
	replaced  *exitRecord // nil: the container would run on
}

// state computes the container's state at a time from its start time and its exit: created, running or exited.
func (c *container) state(now time.Time) runtime.State {
	switch {
	case c.exit != nil && !c.exit.at.After(now):
		return runtime.StateExited
	case !c.startAt.IsZero() && !c.startAt.After(now):
		return runtime.StateRunning
	}
	return runtime.StateCreated
}

// nextStateChange returns the time at which a start or exit that is already scheduled takes effect after now.
// It returns zero if none is scheduled or the container was removed.
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

// exitTime returns the time of the container's exit, which may be past or scheduled. It returns zero if no exit
// is scheduled.
func (c *container) exitTime() time.Time {
	if c.exit == nil {
		return time.Time{}
	}
	return c.exit.at
}

// storeRunAndScheduleExit stores the container's Run, sets the start time after the start delay, and schedules
// the exit unless the Run is endless. If the script says fail=start, it sets an exit with reason StartError at
// now instead of a start time.
func (c *container) storeRunAndScheduleExit(now time.Time, run *Run) {
	c.run = run
	if run.Fail == FailStart {
		c.exit = &exitRecord{at: now, code: exitCodeStartError, reason: "StartError", message: "memory: the script says fail=start"}
		return
	}
	c.startAt = now.Add(run.StartDelay)
	if !run.Forever {
		c.scheduleExitOfRun(c.startAt.Add(run.For))
	}
	c.scheduleOOMKill(now)
}

// scheduleOOMKill schedules the exit of a started container at the first time from now on at which the memory in
// its script is above its memory limit. It cancels the exit that it has scheduled for an earlier limit.
func (c *container) scheduleOOMKill(now time.Time) {
	if c.exit != nil && c.exit.isOOMKill && c.exit.at.After(now) {
		c.exit = c.exit.replaced
	}
	limit := c.resources.MemoryBytes
	if limit <= 0 || c.run == nil || c.startAt.IsZero() || c.state(now) == runtime.StateExited {
		return
	}
	for i, change := range c.run.Memory {
		at := c.startAt.Add(change.After)
		if isOver := i+1 < len(c.run.Memory) && !c.startAt.Add(c.run.Memory[i+1].After).After(now); isOver || change.Bytes <= limit {
			continue
		}
		if at.Before(now) {
			at = now
		}
		if c.exit == nil || at.Before(c.exit.at) {
			c.exit = &exitRecord{at: at, code: exitCodeKilled, reason: "OOMKilled", isOOMKill: true, replaced: c.exit}
		}
		return
	}
}

// exitOnTerm simulates a TERM signal. A container normally exits now with code 143, or with its own code if its
// Run is graceful. A container that ignores TERM is killed after the grace period. Any container is killed now
// if there is no grace period or it does not run yet.
func (c *container) exitOnTerm(now time.Time, grace time.Duration) {
	switch {
	case grace <= 0 || c.state(now) != runtime.StateRunning: // A container that does not run yet cannot handle signals.
		c.exitKilledUnlessExitEarlier(now)
	case c.run.IgnoreTerm:
		c.scheduleExitIfEarlier(now.Add(grace), exitCodeKilled)
	case c.run.Graceful:
		c.scheduleExitOfRun(now)
	default:
		c.scheduleExitIfEarlier(now, exitCodeTerm)
	}
}

// rescheduleExit schedules the exit of a running container that ignores TERM again: as its Run, its memory and the
// waiting stops require.
func (c *container) rescheduleExit(now time.Time) {
	c.exit = nil
	if !c.run.Forever {
		c.scheduleExitOfRun(c.startAt.Add(c.run.For))
	}
	c.scheduleOOMKill(now)
	for _, kill := range c.ensureExtras().stops {
		c.scheduleExitIfEarlier(kill, exitCodeKilled)
	}
}

// exitKilledUnlessExitEarlier makes the container exit now with exit code 137. It does not change an exit that
// is set for this or an earlier time. It also cancels a delayed start.
func (c *container) exitKilledUnlessExitEarlier(now time.Time) {
	c.scheduleExitIfEarlier(now, exitCodeKilled)
}

// scheduleExitOfRun schedules an exit with the exit code, reason and message that the container's Run defines.
// The caller passes a time before any exit that is already scheduled.
func (c *container) scheduleExitOfRun(at time.Time) {
	c.scheduleExitIfEarlier(at, c.run.Exit)
	c.exit.message = c.run.Message
	if c.run.Reason != "" {
		c.exit.reason = c.run.Reason
	}
}

// scheduleExitIfEarlier schedules an exit with an exit code, unless an exit at the same or an earlier time is
// already scheduled. The reason is Completed for code 0 and Error for others.
func (c *container) scheduleExitIfEarlier(at time.Time, code int32) {
	if c.exit != nil && !at.Before(c.exit.at) {
		if r := c.exit.replaced; c.exit.isOOMKill && (r == nil || at.Before(r.at)) {
			c.exit.replaced = newExitRecord(at, code)
		}
		return
	}
	c.exit = newExitRecord(at, code)
}

// newExitRecord returns an exit with the reason Completed for code 0 and Error for others.
func newExitRecord(at time.Time, code int32) *exitRecord {
	if code == 0 {
		return &exitRecord{at: at, code: code, reason: "Completed"}
	}
	return &exitRecord{at: at, code: code, reason: "Error"}
}

// isStartingOrRunning reports whether the container was started and has not exited. This includes the start
// delay.
func (c *container) isStartingOrRunning(now time.Time) bool {
	return !c.startAt.IsZero() && c.state(now) != runtime.StateExited
}

// listEntry returns the container as ListPods reports it at a time.
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

// status returns the container as PodStatus reports it at a time.
func (c *container) status(now time.Time) runtime.ContainerStatus {
	s := runtime.ContainerStatus{
		Container:     c.listEntry(now),
		Image:         c.spec.image,
		ImageRef:      c.spec.imageRef,
		CreatedAt:     c.created,
		Annotations:   c.spec.annotations,
		MountedImages: c.spec.mountedImages,
		Resources:     c.resources,
		User:          c.spec.user,
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

// changeHeap is a heap of containers, ordered by the time of their next state change.
type changeHeap []*container

func (t changeHeap) Len() int { return len(t) }

// Less breaks ties by ID, so that the order does not depend on the history of the heap.
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
