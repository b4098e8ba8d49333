package executor

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// Scheduler runs a simulation: one thread, coroutines over a heap of timers, and a seed that
// decides every choice that the Go scheduler would make. The same program with the same seed takes
// the same steps.
//
// It is driven from one goroutine, which is never one of its coroutines.
type Scheduler struct {
	now              time.Time
	random           *rand.Rand
	ready            []*coroutine
	pollingContext   []*coroutine // parked on a context that cannot notify the scheduler, in order
	timers           timers
	current          *coroutine // nil while the driver runs
	crashedProcesses []*Process // crashed by a coroutine; their coroutines must still end
	steps            int
	stepsAtThisTime  int // steps since the clock last moved; limited to detect a livelock
	limits           livelockLimits
	guard            guard
	// onHopelessWait is called for a wait of the driver that cannot end; nil: the driver may not wait.
	onHopelessWait   func(reason error)
	driverWaitsSince time.Time // start of consecutive waits of the driver; zero: the driver is not waiting
}

// livelockLimits are the limits above which the program in the simulation counts as a livelock. The
// simulation then panics, because the test would hang.
type livelockLimits struct {
	stepsAtOneTime int // steps without a move of the clock
	failedWaits    int // failed waits of one coroutine in a row
}

// NewScheduler returns a scheduler with a seed and a start time.
func NewScheduler(seed uint64, start time.Time) *Scheduler {
	return &Scheduler{
		now:    start,
		random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		limits: livelockLimits{stepsAtOneTime: 10_000_000, failedWaits: 1_000_000},
	}
}

// Now returns the simulation's time.
func (s *Scheduler) Now() time.Time { return s.now }

// Steps returns the number of steps so far. A step resumes one coroutine once. A test places a crash by
// this number.
func (s *Scheduler) Steps() int { return s.steps }

// Float64 returns a number in [0,1) from the simulation's seed, for jitter.
func (s *Scheduler) Float64() float64 { return s.random.Float64() }

// Step resumes one ready coroutine, chosen by the seed, until it waits again or returns. If none is
// ready it does nothing and returns false.
func (s *Scheduler) Step() (stepped bool) {
	s.markDriverActiveAndRun(func() { stepped = s.stepRandomCoroutine() })
	return stepped
}

// stepRandomCoroutine resumes one ready coroutine, which it chooses at random, until the coroutine waits or
// returns. It returns false if no coroutine is ready. It panics after too many steps at the same simulated
// time.
func (s *Scheduler) stepRandomCoroutine() (stepped bool) {
	s.wakePollingWithEndedContext()
	if len(s.ready) == 0 {
		return false
	}
	if s.stepsAtThisTime++; s.stepsAtThisTime > s.limits.stepsAtOneTime {
		panicFault(fmt.Sprintf("executor: %d steps at the same time %s: the program never waits", s.limits.stepsAtOneTime, s.now))
	}
	i := s.random.IntN(len(s.ready))
	c := s.ready[i]
	last := len(s.ready) - 1
	s.ready[i], s.ready[last] = s.ready[last], nil
	s.ready = s.ready[:last]
	s.steps++
	s.guard.steps.Add(1)
	s.resumeCoroutine(c)
	return true
}

// RunUntilIdle steps until no coroutine is ready.
func (s *Scheduler) RunUntilIdle() { s.markDriverActiveAndRun(s.runUntilIdle) }

// runUntilIdle steps the simulation until no coroutine is ready. It does not advance the clock.
func (s *Scheduler) runUntilIdle() {
	for s.stepRandomCoroutine() {
	}
}

// NextTimer returns the time when the next timer is due, and false if no timer is set.
func (s *Scheduler) NextTimer() (time.Time, bool) {
	if len(s.timers) == 0 {
		return time.Time{}, false
	}
	return s.timers[0].due, true
}

// AdvanceTo moves the clock to t, unless t is in the past, and makes ready everything that is due
// by then. It runs nothing. So work that was due at different times may run in any order, as on a
// machine that was suspended.
func (s *Scheduler) AdvanceTo(t time.Time) {
	if t.After(s.now) {
		s.now = t
		s.stepsAtThisTime = 0
	}
	for len(s.timers) > 0 && !s.timers[0].due.After(s.now) {
		if t := s.timers[0]; t.c != nil {
			s.makeReady(t.c, wokenByTime)
		} else {
			heap.Pop(&s.timers)
			t.d.cancelAtDeadline()
		}
	}
}

// RunUntil runs until idle, then moves from timer to timer, each time until idle, until the clock
// shows t.
func (s *Scheduler) RunUntil(t time.Time) { s.markDriverActiveAndRun(func() { s.runUntil(t) }) }

// runUntil runs the simulation until it is idle, at the time of each timer up to t and at t itself. It advances
// the clock to t.
func (s *Scheduler) runUntil(t time.Time) {
	s.runUntilIdle()
	for {
		due, ok := s.NextTimer()
		if !ok || due.After(t) {
			break
		}
		s.AdvanceTo(due)
		s.runUntilIdle()
	}
	s.AdvanceTo(t)
	s.runUntilIdle()
}

// wakePollingWithEndedContext makes the coroutines ready that wait with a context from another package that has
// ended. The scheduler must poll such contexts, because they would notify it in another goroutine.
func (s *Scheduler) wakePollingWithEndedContext() {
	for i := 0; i < len(s.pollingContext); {
		c := s.pollingContext[i]
		if c.ctx.Err() == nil {
			i++
			continue
		}
		s.makeReady(c, wokenByContext) // This removes c, so i is the next one.
	}
}

// resumeCoroutine runs c until it waits or returns. It removes a coroutine that has returned from the running
// ones. Then it unwinds crashed processes. A panic of c reaches the caller; the scheduler stays usable.
func (s *Scheduler) resumeCoroutine(c *coroutine) {
	alive := false
	s.current = c
	defer func() {
		s.current = nil
		switch {
		case !alive:
			c.p.removeEndedCoroutine(c)
		case c.f == nil:
			c.p.removeEndedCoroutine(c)
			c.p.keepOrStopCoroutine(c)
		}
		s.unwindCrashedProcesses()
	}()
	_, alive = c.next()
}

// unwindCrashedProcesses makes all coroutines return in each process that was crashed by one of its own
// coroutines.
func (s *Scheduler) unwindCrashedProcesses() {
	for len(s.crashedProcesses) > 0 {
		p := s.crashedProcesses[0]
		s.crashedProcesses = s.crashedProcesses[1:]
		p.unwindCoroutines()
	}
}

// makeReady makes a parked coroutine ready, records the cause, and removes its timer and its context callback.
// It returns false and does nothing if the coroutine is not parked.
func (s *Scheduler) makeReady(c *coroutine, cause wakeCause) (wasParked bool) {
	if !c.parked {
		return false
	}
	c.parked = false
	c.woken = cause
	if c.timer.armed {
		heap.Remove(&s.timers, c.timer.index)
	}
	if c.ctx != nil {
		s.stopWatchingContext(c)
	}
	s.ready = append(s.ready, c)
	return true
}

// wakeOnContextEnd arranges that c becomes ready when ctx ends: by a callback of a Context of this package, or
// by polling any other context. A context that cannot end needs nothing.
func (s *Scheduler) wakeOnContextEnd(c *coroutine, ctx context.Context) {
	o := equivalentContext(ctx)
	switch {
	case o != nil && !o.pollsParent:
		c.end = callback{f: c.onEnd}
		o.addCallback(&c.end) // The caller has checked that it has not ended.
	case ctx.Done() == nil:
		return
	default:
		s.pollingContext = append(s.pollingContext, c)
	}
	c.ctx = ctx
}

// stopWatchingContext removes the callback, or ends the polling, with which c waits for the end of its context.
func (s *Scheduler) stopWatchingContext(c *coroutine) {
	c.ctx = nil
	c.end.withdrawUnlessRun()
	c.end = callback{}
	if i := slices.Index(s.pollingContext, c); i >= 0 {
		s.pollingContext = slices.Delete(s.pollingContext, i, i+1)
	}
}

// wakeCause is why a parked coroutine runs again.
type wakeCause int

const (
	wokenByCrash wakeCause = iota
	wokenBySignal
	wokenByTime
	wokenByContext
)

// coroutine is one thread of execution of a simulated process. It runs only in
// Scheduler.resumeCoroutine, so only one runs at a time.
type coroutine struct {
	p           *Process
	number      int // order of start in the process
	index       int // in the process's list
	next        func() (struct{}, bool)
	stop        func()
	yield       func(struct{}) bool
	f           func() // its function; nil: it has returned, and the coroutine can be reused
	parked      bool
	woken       wakeCause
	failedWaits int // failed waits since the last successful one
	timer       timer
	ctx         context.Context // the context of the wait; nil: none can end it
	end         callback        // registers the coroutine with ctx, if that is a Context of this package
	onEnd       func()
}

// newCoroutine returns a coroutine that will run f when it is resumed. When f returns, the coroutine waits for
// another function.
func newCoroutine(p *Process, f func()) *coroutine {
	c := &coroutine{p: p, f: f}
	c.timer.c = c
	c.onEnd = func() { p.s.makeReady(c, wokenByContext) }
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer repanicWithStack() // Without this the stack of the panic would be lost.
		c.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			c.f()
			c.f = nil
		}
	})
	return c
}

// timer is an entry in the heap of times, for a coroutine or a deadline.
type timer struct {
	due   time.Time
	c     *coroutine
	d     *deadlineContext
	index int
	armed bool
}

// timers is a heap by due time. Equal times need no order: they become ready together, and the seed
// chooses.
type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}
func (t *timers) Push(x any) {
	e := x.(*timer)
	e.index, e.armed = len(*t), true
	*t = append(*t, e)
}
func (t *timers) Pop() any {
	old := *t
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	e.armed = false
	return e
}
