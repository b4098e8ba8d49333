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

// Scheduler is the simulation's half of the seam: one thread, coroutines over a
// heap of timers, and a seed that decides every choice the real world would
// leave to chance. The same program with the same seed takes the same steps.
//
// It is driven from one goroutine, which is never one of its coroutines.
type Scheduler struct {
	now     time.Time
	random  *rand.Rand
	ready   []*coroutine
	foreign []*coroutine // parked on a context that cannot call us, in order
	timers  timers
	current *coroutine // nil while the driver runs
	crashed []*Process // by one of their own coroutines, not yet unwound
	steps   int
	idle    int // steps since time last moved: a livelock shows here
	limits  limits
	guard   guard
	// hopeless is called for a wait of the driver that cannot end; nil: the driver
	// may not wait.
	hopeless   func(reason error)
	waitsSince time.Time // of the driver, one after another; zero: it drives
}

// limits are the numbers at which a simulation concludes that the program in it
// will never come to rest, and panics rather than hang the test.
type limits struct {
	idle    int // steps at one instant
	refused int // waits of one coroutine that failed, in a row
}

// NewScheduler makes a scheduler whose clock stands at start.
func NewScheduler(seed uint64, start time.Time) *Scheduler {
	return &Scheduler{
		now:    start,
		random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		limits: limits{idle: 10_000_000, refused: 1_000_000},
	}
}

// Now is the simulation's time.
func (s *Scheduler) Now() time.Time { return s.now }

// Steps is how many times a coroutine has been resumed so far: the number by
// which a crash is placed.
func (s *Scheduler) Steps() int { return s.steps }

// Float64 is a number in [0,1) from the simulation's seed: jitter for what it runs.
func (s *Scheduler) Float64() float64 { return s.random.Float64() }

// Step resumes one ready coroutine, chosen by the seed, until it waits again
// or ends. It reports false, doing nothing, when none is ready.
func (s *Scheduler) Step() (stepped bool) {
	s.driven(func() { stepped = s.step() })
	return stepped
}

func (s *Scheduler) step() bool {
	s.look()
	if len(s.ready) == 0 {
		return false
	}
	if s.idle++; s.idle > s.limits.idle {
		fault(fmt.Sprintf("executor: %d steps and the time is still %s: the program never waits", s.limits.idle, s.now))
	}
	i := s.random.IntN(len(s.ready))
	c := s.ready[i]
	last := len(s.ready) - 1
	s.ready[i], s.ready[last] = s.ready[last], nil
	s.ready = s.ready[:last]
	s.steps++
	s.guard.steps.Add(1)
	s.resume(c)
	return true
}

// RunUntilIdle steps until nothing is ready, so that only time can change anything.
func (s *Scheduler) RunUntilIdle() { s.driven(s.runUntilIdle) }

func (s *Scheduler) runUntilIdle() {
	for s.step() {
	}
}

// Next is when the next timer is due; false when none is set.
func (s *Scheduler) Next() (time.Time, bool) {
	if len(s.timers) == 0 {
		return time.Time{}, false
	}
	return s.timers[0].due, true
}

// AdvanceTo moves the clock to t, unless that is in the past, and makes ready
// all that is due by then. It runs nothing, so what was due at different times
// may run in any order, as on a machine that was suspended.
func (s *Scheduler) AdvanceTo(t time.Time) {
	if t.After(s.now) {
		s.now = t
		s.idle = 0
	}
	for len(s.timers) > 0 && !s.timers[0].due.After(s.now) {
		if t := s.timers[0]; t.c != nil {
			s.wake(t.c, wokenByTime)
		} else {
			heap.Pop(&s.timers)
			t.d.due()
		}
	}
}

// RunUntil runs until idle, then moves from timer to timer, until idle at each, until
// the clock shows t.
func (s *Scheduler) RunUntil(t time.Time) { s.driven(func() { s.runUntil(t) }) }

func (s *Scheduler) runUntil(t time.Time) {
	s.runUntilIdle()
	for {
		due, ok := s.Next()
		if !ok || due.After(t) {
			break
		}
		s.AdvanceTo(due)
		s.runUntilIdle()
	}
	s.AdvanceTo(t)
	s.runUntilIdle()
}

// look wakes whoever waits on a context of another make that has ended.
// Asking is the only way: such a context would tell us in a goroutine.
func (s *Scheduler) look() {
	for i := 0; i < len(s.foreign); {
		c := s.foreign[i]
		if c.ctx.Err() == nil {
			i++
			continue
		}
		s.wake(c, wokenByContext) // Takes c out, so that i is the next one.
	}
}

// resume gives the thread to c until it yields or ends. A panic of the
// coroutine comes out of next, in the driver; the scheduler stays usable.
func (s *Scheduler) resume(c *coroutine) {
	alive := false
	s.current = c
	defer func() {
		s.current = nil
		switch {
		case !alive:
			c.p.leave(c)
		case c.f == nil:
			c.p.leave(c)
			c.p.rest(c)
		}
		s.unwind()
	}()
	_, alive = c.next()
}

// unwind finishes the crashes that coroutines asked for in their own process.
func (s *Scheduler) unwind() {
	for len(s.crashed) > 0 {
		p := s.crashed[0]
		s.crashed = s.crashed[1:]
		p.unwind()
	}
}

// wake makes a parked coroutine ready and disarms whatever else might have
// woken it. It reports false, doing nothing, if something else came first.
func (s *Scheduler) wake(c *coroutine, by cause) bool {
	if !c.parked {
		return false
	}
	c.parked = false
	c.woken = by
	if c.timer.armed {
		heap.Remove(&s.timers, c.timer.index)
	}
	if c.ctx != nil {
		s.disarm(c)
	}
	s.ready = append(s.ready, c)
	return true
}

// arm has c woken when ctx ends.
func (s *Scheduler) arm(c *coroutine, ctx context.Context) {
	o := own(ctx)
	switch {
	case o != nil && !o.foreign:
		c.end = callback{f: c.onEnd}
		o.adopt(&c.end) // It has not ended: the caller looked.
	case ctx.Done() == nil:
		return
	default:
		s.foreign = append(s.foreign, c)
	}
	c.ctx = ctx
}

// disarm is the opposite of arm.
func (s *Scheduler) disarm(c *coroutine) {
	c.ctx = nil
	c.end.leave()
	c.end = callback{}
	if i := slices.Index(s.foreign, c); i >= 0 {
		s.foreign = slices.Delete(s.foreign, i, i+1)
	}
}

// cause is why a parked coroutine runs again.
type cause int

const (
	wokenByCrash cause = iota
	wokenBySignal
	wokenByTime
	wokenByContext
)

// coroutine is one thread of a simulated process. It runs only inside
// Scheduler.resume, so that at any time at most one does.
type coroutine struct {
	p       *Process
	number  int // in order of birth within the process
	index   int // in the process's list
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	f       func() // what it does; nil: it has done it, and rests
	parked  bool
	woken   cause
	refused int // waits that failed since the last one that did not
	timer   timer
	ctx     context.Context // what ends the wait; nil: nothing does
	end     callback        // our place with ctx, if that is one of ours
	onEnd   func()
}

func newCoroutine(p *Process, f func()) *coroutine {
	c := &coroutine{p: p, f: f}
	c.timer.c = c
	c.onEnd = func() { p.s.wake(c, wokenByContext) }
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer explain() // Else the driver would panic without a word of where.
		c.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			c.f()
			c.f = nil
		}
	})
	return c
}

// timer is the place of a coroutine, or of a deadline, in the heap of times.
type timer struct {
	due   time.Time
	c     *coroutine
	d     *deadline
	index int
	armed bool
}

// timers is the heap, by due time. Equals need no order of their own: they
// become ready together, and the seed picks among the ready.
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
