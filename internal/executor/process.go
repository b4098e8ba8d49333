package executor

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Process is one program in a simulation: the seam it runs on, and the unit that
// crashes. Several can share a scheduler, and one may be started after
// another's crash, as a machine restarts an agent.
//
// A coroutine may wait on the seam of another process, as an agent does in a
// runtime that outlives it. The crash of its own process ends that wait; a
// crash of the other one is noticed when the wait ends by itself.
type Process struct {
	s       *Scheduler
	running []*coroutine
	resting []*coroutine // have ended, and are made use of again
	born    int
	crashed bool
	// deadlines counts those to come, of contexts that are not cancelled.
	deadlines int
}

// NewProcess makes a process on the scheduler. It runs nothing yet.
func (s *Scheduler) NewProcess() *Process { return &Process{s: s} }

// Clock is the clock to hand to a Config: Over finds this process behind it.
func (p *Process) Clock() clock.WithTicker { return processClock{p} }

// Running is how many coroutines the process has, ready and parked, and how many
// deadlines.
func (p *Process) Running() int { return len(p.running) + p.deadlines }

// Crashed reports whether Crash was called.
func (p *Process) Crashed() bool { return p.crashed }

// Crash ends the process where it stands. Every parked wait returns
// ErrCrashed, so does every later one, nothing can be forked any more, and
// when Crash returns all coroutines have unwound, the youngest first.
//
// Called by a coroutine of any process in the simulation, and not by the driver,
// it returns at once, and the unwinding follows when that coroutine next waits
// or ends: this is how a fake crashes its caller in the middle of a call.
func (p *Process) Crash() {
	if p.crashed {
		return
	}
	p.crashed, p.deadlines = true, 0
	if p.s.current != nil {
		p.s.crashed = append(p.s.crashed, p)
		return
	}
	p.unwind()
}

// unwind stops one coroutine after another. No coroutine is started meanwhile, and a
// coroutine is older than those it has started, so none unwinds before those it
// waits for.
func (p *Process) unwind() {
	defer func() {
		if len(p.running) > 0 {
			p.unwind() // One panicked on its way out. The others go all the same.
		}
	}()
	slices.SortFunc(p.running, func(a, b *coroutine) int { return a.number - b.number })
	for i, c := range p.running {
		c.index = i
	}
	for len(p.running) > 0 {
		p.end(p.running[len(p.running)-1])
	}
}

// end resumes c for the last time. A panic on its way out reaches the driver.
func (p *Process) end(c *coroutine) {
	p.s.wake(c, wokenByCrash)
	if i := slices.Index(p.s.ready, c); i >= 0 {
		p.s.ready = slices.Delete(p.s.ready, i, i+1)
	}
	p.s.current, c.refused = c, 0
	defer func() {
		p.s.current = nil
		p.leave(c)
	}()
	c.stop()
}

// leave takes an ended coroutine out of the process. Those that rest end with the
// last one that runs, since nothing else marks the end of a process.
func (p *Process) leave(c *coroutine) {
	last := len(p.running) - 1
	p.running[c.index] = p.running[last]
	p.running[c.index].index = c.index
	p.running[last] = nil
	p.running = p.running[:last]
	if last > 0 {
		return
	}
	for _, r := range p.resting {
		r.stop()
	}
	p.resting = nil
}

// rest keeps a coroutine whose work is done for the next one: to make a new one,
// and to let its stack grow again, costs more than most of them do.
func (p *Process) rest(c *coroutine) {
	const most = 16
	if len(p.running) > 0 && len(p.resting) < most && !p.crashed {
		p.resting = append(p.resting, c)
		return
	}
	c.stop()
}

// Now implements Executor.
func (p *Process) Now() time.Time { return p.s.now }

// Go implements Executor. A crashed process forks nothing.
func (p *Process) Go(f func()) {
	if p.crashed {
		return
	}
	c := p.coroutine(f)
	c.index, c.number = len(p.running), p.born
	p.born++
	p.running = append(p.running, c)
	p.s.ready = append(p.s.ready, c)
}

// coroutine is one that has rested, or a new one.
func (p *Process) coroutine(f func()) *coroutine {
	last := len(p.resting) - 1
	if last < 0 {
		return newCoroutine(p, f)
	}
	c := p.resting[last]
	p.resting[last] = nil
	p.resting = p.resting[:last]
	c.f, c.refused = f, 0
	return c
}

// Yield lets others run: the point before or after a call at which a crash can
// be placed. It returns ErrCrashed in a crashed process. Called by the driver,
// who is no coroutine, it only reports the crash.
func (p *Process) Yield() error {
	if p.s.current == nil {
		if p.crashed {
			return ErrCrashed
		}
		return nil
	}
	return p.Sleep(context.Background(), 0)
}

// Sleep implements Executor.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	if p.driverMayWait() {
		due := p.s.now.Add(d)
		return p.driverWaits(ctx, due, func() bool { return !p.s.now.Before(due) })
	}
	c, err := p.enter(ctx)
	if err != nil {
		return err
	}
	_, err = p.park(c, ctx, p.s.now.Add(d), true)
	return err
}

// NewEvent implements Executor.
func (p *Process) NewEvent() Event { return &simulatedEvent{p: p} }

// NewLatch implements Executor.
func (p *Process) NewLatch() Latch { return &simulatedLatch{p: p, done: make(chan struct{})} }

// WithDeadline implements Executor with a place in the heap of times. Only a deadline
// that passes costs a coroutine, whose step ends the context: what else is due
// at that time may come first, as chance will have it.
func (p *Process) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	d := &deadline{p: p}
	d.Init(ctx)
	d.Context.deadline = t
	if !t.After(p.s.now) {
		d.Cancel(context.DeadlineExceeded)
		return &d.Context, func() {}
	}
	if d.end.f = d.disarm; !p.crashed && d.adopt(&d.end) {
		d.timer = timer{due: t, d: d}
		heap.Push(&p.s.timers, &d.timer)
		p.deadlines++
	}
	return &d.Context, func() { d.Cancel(context.Canceled) }
}

// deadline is a context that ends at a time.
type deadline struct {
	Context
	p     *Process
	timer timer
	end   callback // its own: no context that has ended waits for its time
}

func (d *deadline) disarm() {
	if !d.timer.armed {
		return
	}
	heap.Remove(&d.p.s.timers, d.timer.index)
	if !d.p.crashed {
		d.p.deadlines--
	}
}

// due ends the context. In a process that has crashed nothing ends any more.
func (d *deadline) due() {
	if d.p.crashed {
		return
	}
	d.p.deadlines--
	d.p.Go(func() { d.Cancel(context.DeadlineExceeded) })
}

// enter finds the coroutine that is about to wait, and whether it may. A loop
// that ignores the refusal would hang the simulation, so it is counted.
func (p *Process) enter(ctx context.Context) (*coroutine, error) {
	c := p.s.current
	if c == nil {
		if p.crashed {
			return nil, ErrCrashed
		}
		fault("executor: the driver of a simulation waits inside it: use Process.Go and Scheduler.RunUntil")
	}
	var err error
	if p.crashed || c.p.crashed {
		err = ErrCrashed
	} else {
		err = ctx.Err()
	}
	if err == nil {
		c.refused = 0
		return c, nil
	}
	if c.refused++; c.refused > p.s.limits.refused {
		fault("executor: a loop ignores the error of its wait: " + err.Error())
	}
	return c, err
}

// park suspends c, the running coroutine, until it is woken by signal (which
// the caller has registered), by time if timed, by the end of ctx, or by a
// crash. A time that has come makes c ready at once: others may
// still run before it.
func (p *Process) park(c *coroutine, ctx context.Context, due time.Time, timed bool) (cause, error) {
	c.parked = true
	switch {
	case timed && !due.After(p.s.now):
		p.s.wake(c, wokenByTime)
	case timed:
		c.timer.due = due
		heap.Push(&p.s.timers, &c.timer)
		p.s.arm(c, ctx)
	default:
		p.s.arm(c, ctx)
	}
	if !c.yield(struct{}{}) || p.crashed {
		return wokenByCrash, ErrCrashed
	}
	if c.woken == wokenByContext {
		return wokenByContext, ctx.Err()
	}
	return c.woken, nil
}

// simulatedEvent is an Event of a process.
type simulatedEvent struct {
	p      *Process
	set    bool
	waiter *coroutine
}

func (e *simulatedEvent) Signal() {
	if c := e.waiter; c != nil && e.p.s.wake(c, wokenBySignal) {
		e.waiter = nil
		return
	}
	e.set = true // No coroutine waits, or it has been woken for another reason.
}

func (e *simulatedEvent) Wait(ctx context.Context) error {
	_, err := e.wait(ctx, time.Time{}, false)
	return err
}

func (e *simulatedEvent) WaitUntil(ctx context.Context, t time.Time) (bool, error) {
	return e.wait(ctx, t, true)
}

func (e *simulatedEvent) wait(ctx context.Context, t time.Time, timed bool) (bool, error) {
	if e.p.driverMayWait() {
		return e.driverWaits(ctx, t, timed)
	}
	c, err := e.p.enter(ctx)
	if err != nil {
		return false, err
	}
	if e.waiter != nil {
		fault("executor: two wait for one event")
	}
	if e.set {
		e.set = false
		return true, nil
	}
	e.waiter = c
	by, err := e.p.park(c, ctx, t, timed)
	if e.waiter == c {
		e.waiter = nil
	}
	return by == wokenBySignal, err
}

// driverWaits takes the signal for the driver.
func (e *simulatedEvent) driverWaits(ctx context.Context, t time.Time, timed bool) (bool, error) {
	err := ctx.Err()
	if err != nil {
		return false, err
	}
	if !timed || t.After(e.p.s.now) {
		err = e.p.driverWaits(ctx, t, func() bool { return e.set })
	}
	taken := e.set && err == nil
	e.set = e.set && !taken
	return taken, err
}

// simulatedLatch is a Latch of a process.
type simulatedLatch struct {
	p       *Process
	open    bool
	done    chan struct{}
	waiters []*coroutine
}

func (l *simulatedLatch) Open() {
	if l.open {
		return
	}
	l.open = true
	close(l.done)
	for _, c := range l.waiters {
		l.p.s.wake(c, wokenBySignal)
	}
	l.waiters = nil
}

func (l *simulatedLatch) Opened() bool { return l.open }

func (l *simulatedLatch) Done() <-chan struct{} { return l.done }

func (l *simulatedLatch) Wait(ctx context.Context) error {
	if l.open && !l.p.crashed {
		return nil
	}
	if l.p.driverMayWait() {
		return l.p.driverWaits(ctx, time.Time{}, func() bool { return l.open })
	}
	c, err := l.p.enter(ctx)
	if err != nil {
		return err
	}
	l.waiters = append(l.waiters, c)
	by, err := l.p.park(c, ctx, time.Time{}, false)
	if by == wokenByContext && l.open {
		return nil // Open and cancelled at once counts as open.
	}
	if i := slices.Index(l.waiters, c); i >= 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
	}
	return err
}

// processClock is the clock of a simulated process. It tells the time; whoever
// would wait on one of its channels would stop the only thread there is.
type processClock struct{ p *Process }

const noChannels = "executor: in a simulation nothing waits on a clock's channel or timer: wait by podworkers.Wait(ctx, d)"

func (c processClock) executor() Executor                 { return c.p }
func (c processClock) Now() time.Time                     { return c.p.s.now }
func (c processClock) Since(t time.Time) time.Duration    { return c.p.s.now.Sub(t) }
func (processClock) After(time.Duration) <-chan time.Time { fault(noChannels); return nil }
func (processClock) NewTimer(time.Duration) clock.Timer   { fault(noChannels); return nil }
func (processClock) Sleep(time.Duration)                  { fault(noChannels) }
func (processClock) Tick(time.Duration) <-chan time.Time  { fault(noChannels); return nil }
func (processClock) NewTicker(time.Duration) clock.Ticker { fault(noChannels); return nil }
