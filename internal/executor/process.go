package executor

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Process is one program in a simulation: an Executor, and the unit that crashes. Several processes
// can share a scheduler. A new one may be started after the crash of another, as a machine restarts
// an agent.
//
// A coroutine may wait on the executor of another process. For example, a coroutine of an agent waits
// in a call of a runtime that outlives the agent. The crash of the agent's process ends that wait at
// once. After a crash of the runtime's process the wait still lasts as long as it would have, and then
// returns ErrCrashed.
type Process struct {
	s        *Scheduler
	running  []*coroutine
	reusable []*coroutine // finished coroutines, for reuse
	started  int          // number of coroutines that were started
	crashed  bool
	// deadlines counts the pending deadlines of contexts that are not cancelled.
	deadlines int
}

// NewProcess returns a process on the scheduler, without coroutines.
func (s *Scheduler) NewProcess() *Process { return &Process{s: s} }

// Clock returns the clock for a Config. Over returns this process for it.
func (p *Process) Clock() clock.WithTicker { return processClock{p} }

// Running returns the number of coroutines that have not returned, also of those that wait, plus the
// number of contexts whose deadline is pending.
func (p *Process) Running() int { return len(p.running) + p.deadlines }

// Crashed reports whether Crash was called.
func (p *Process) Crashed() bool { return p.crashed }

// Crash ends the process at the present step. Every parked wait returns ErrCrashed, and every later
// wait too. No coroutine can be started. If the driver calls Crash, all coroutines of the process have
// returned when Crash returns. The youngest returns first.
//
// A coroutine may also call Crash, of its own or of another process. Then Crash returns at once, and
// the coroutines of the crashed process return when the calling coroutine next waits or returns. So a
// fake can crash its caller in the middle of a call.
func (p *Process) Crash() {
	if p.crashed {
		return
	}
	p.crashed, p.deadlines = true, 0
	if p.s.current != nil {
		p.s.crashedProcesses = append(p.s.crashedProcesses, p)
		return
	}
	p.unwindCoroutines()
}

// unwindCoroutines resumes the coroutines of a crashed process one after another, the youngest first, until all
// have returned. A coroutine is older than the coroutines that it has started, so a coroutine that waits for
// its own Group or Each returns after the members.
func (p *Process) unwindCoroutines() {
	defer func() {
		if len(p.running) > 0 {
			p.unwindCoroutines() // A coroutine panicked. The others must still end.
		}
	}()
	slices.SortFunc(p.running, func(a, b *coroutine) int { return a.number - b.number })
	for i, c := range p.running {
		c.index = i
	}
	for len(p.running) > 0 {
		p.unwindCoroutine(p.running[len(p.running)-1])
	}
}

// unwindCoroutine resumes c for the last time, so that its wait returns ErrCrashed, and removes c from the
// process. A panic of c reaches the driver, the goroutine that steps the simulation.
func (p *Process) unwindCoroutine(c *coroutine) {
	p.s.makeReady(c, wokenByCrash)
	if i := slices.Index(p.s.ready, c); i >= 0 {
		p.s.ready = slices.Delete(p.s.ready, i, i+1)
	}
	p.s.current, c.failedWaits = c, 0
	defer func() {
		p.s.current = nil
		p.removeEndedCoroutine(c)
	}()
	c.stop()
}

// removeEndedCoroutine removes an ended coroutine from the running coroutines of its process. If the process
// then runs no coroutine, it also stops the coroutines that are kept for reuse, because nothing else marks the
// end of a process.
func (p *Process) removeEndedCoroutine(c *coroutine) {
	last := len(p.running) - 1
	p.running[c.index] = p.running[last]
	p.running[c.index].index = c.index
	p.running[last] = nil
	p.running = p.running[:last]
	if last > 0 {
		return
	}
	for _, r := range p.reusable {
		r.stop()
	}
	p.reusable = nil
}

// keepOrStopCoroutine keeps a coroutine whose function has returned, so that it can run another function. It
// stops the coroutine if the process has crashed, runs no other coroutine, or already keeps 16. A new coroutine
// costs more than most functions do.
func (p *Process) keepOrStopCoroutine(c *coroutine) {
	const most = 16
	if len(p.running) > 0 && len(p.reusable) < most && !p.crashed {
		p.reusable = append(p.reusable, c)
		return
	}
	c.stop()
}

// Now implements Executor.
func (p *Process) Now() time.Time { return p.s.now }

// Go implements Executor. It does nothing in a crashed process.
func (p *Process) Go(f func()) {
	if p.crashed {
		return
	}
	c := p.reuseOrNewCoroutine(f)
	c.index, c.number = len(p.running), p.started
	p.started++
	p.running = append(p.running, c)
	p.s.ready = append(p.s.ready, c)
}

// reuseOrNewCoroutine returns a coroutine that will run f: the coroutine kept last, or a new one if none is
// kept.
func (p *Process) reuseOrNewCoroutine(f func()) *coroutine {
	last := len(p.reusable) - 1
	if last < 0 {
		return newCoroutine(p, f)
	}
	c := p.reusable[last]
	p.reusable[last] = nil
	p.reusable = p.reusable[:last]
	c.f, c.failedWaits = f, 0
	return c
}

// Yield lets other coroutines run. A fake calls it before or after its effect, so that a crash can
// be placed there. It returns ErrCrashed in a crashed process. Called by the driver it only reports
// the crash.
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
		return p.driverWait(ctx, due, func() bool { return !p.s.now.Before(due) })
	}
	c, err := p.currentCoroutineForWait(ctx)
	if err != nil {
		return err
	}
	_, err = p.parkUntilWoken(c, ctx, p.s.now.Add(d), true)
	return err
}

// NewEvent implements Executor.
func (p *Process) NewEvent() Event { return &simulatedEvent{p: p} }

// NewLatch implements Executor.
func (p *Process) NewLatch() Latch { return &simulatedLatch{p: p, done: make(chan struct{})} }

// WithDeadline implements Executor with a timer in the heap. Only a deadline that passes uses a
// coroutine, which ends the context in a step of its own. So other work that is due at the same
// time may come first.
func (p *Process) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	d := &deadlineContext{p: p}
	d.Init(ctx)
	d.Context.deadline = t
	if !t.After(p.s.now) {
		d.Cancel(context.DeadlineExceeded)
		return &d.Context, func() {}
	}
	if d.end.f = d.removeDeadlineTimer; !p.crashed && d.addCallback(&d.end) {
		d.timer = timer{due: t, d: d}
		heap.Push(&p.s.timers, &d.timer)
		p.deadlines++
	}
	return &d.Context, func() { d.Cancel(context.Canceled) }
}

// deadlineContext is a context that ends at a time.
type deadlineContext struct {
	Context
	p     *Process
	timer timer
	end   callback // removes the timer when the context ends earlier
}

// removeDeadlineTimer removes the deadline timer of a context that has ended. It does nothing if the timer is not set.
func (d *deadlineContext) removeDeadlineTimer() {
	if !d.timer.armed {
		return
	}
	heap.Remove(&d.p.s.timers, d.timer.index)
	if !d.p.crashed {
		d.p.deadlines--
	}
}

// cancelAtDeadline starts a coroutine that cancels the context with DeadlineExceeded. It does nothing in a
// crashed process.
func (d *deadlineContext) cancelAtDeadline() {
	if d.p.crashed {
		return
	}
	d.p.deadlines--
	d.p.Go(func() { d.Cancel(context.DeadlineExceeded) })
}

// currentCoroutineForWait returns the current coroutine, which is about to wait. It returns an error if ctx has
// ended or if the process has crashed. It panics after too many such errors in a row, because a loop that
// ignores them would hang the simulation. If the caller is no coroutine, it returns ErrCrashed after a crash of
// the process, and panics otherwise.
func (p *Process) currentCoroutineForWait(ctx context.Context) (*coroutine, error) {
	c := p.s.current
	if c == nil {
		if p.crashed {
			return nil, ErrCrashed
		}
		panicFault("executor: the driver of a simulation waits inside it: use Process.Go and Scheduler.RunUntil")
	}
	var err error
	if p.crashed || c.p.crashed {
		err = ErrCrashed
	} else {
		err = ctx.Err()
	}
	if err == nil {
		c.failedWaits = 0
		return c, nil
	}
	if c.failedWaits++; c.failedWaits > p.s.limits.failedWaits {
		panicFault("executor: a loop ignores the error of its wait: " + err.Error())
	}
	return c, err
}

// parkUntilWoken suspends c, the running coroutine, until something wakes it. That is a signal for which the
// caller has registered, the end of ctx, or a crash. With timed set it is also the time due. If due is not in
// the future, c is ready at once, but other coroutines may run first.
func (p *Process) parkUntilWoken(c *coroutine, ctx context.Context, due time.Time, timed bool) (wakeCause, error) {
	c.parked = true
	switch {
	case timed && !due.After(p.s.now):
		p.s.makeReady(c, wokenByTime)
	case timed:
		c.timer.due = due
		heap.Push(&p.s.timers, &c.timer)
		p.s.wakeOnContextEnd(c, ctx)
	default:
		p.s.wakeOnContextEnd(c, ctx)
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

// Signal implements Event.
func (e *simulatedEvent) Signal() {
	if c := e.waiter; c != nil && e.p.s.makeReady(c, wokenBySignal) {
		e.waiter = nil
		return
	}
	e.set = true // No coroutine waits, or it has been woken for another reason.
}

// Wait implements Event.
func (e *simulatedEvent) Wait(ctx context.Context) error {
	_, err := e.waitForSignal(ctx, time.Time{}, false)
	return err
}

// WaitUntil implements Event.
func (e *simulatedEvent) WaitUntil(ctx context.Context, t time.Time) (bool, error) {
	return e.waitForSignal(ctx, t, true)
}

// waitForSignal waits until the event is signalled, ctx ends or the process crashes. With timed set it also
// stops waiting at the time t. It consumes the signal and returns true if there was one. At the time t it
// returns false and no error.
func (e *simulatedEvent) waitForSignal(ctx context.Context, t time.Time, timed bool) (signalled bool, err error) {
	if e.p.driverMayWait() {
		return e.driverWaitForSignal(ctx, t, timed)
	}
	c, err := e.p.currentCoroutineForWait(ctx)
	if err != nil {
		return false, err
	}
	if e.waiter != nil {
		panicFault("executor: two coroutines wait for one event")
	}
	if e.set {
		e.set = false
		return true, nil
	}
	e.waiter = c
	by, err := e.p.parkUntilWoken(c, ctx, t, timed)
	if e.waiter == c {
		e.waiter = nil
	}
	return by == wokenBySignal, err
}

// driverWaitForSignal does the same as waitForSignal if the driver waits, the goroutine that steps the
// simulation. It steps the simulation meanwhile.
func (e *simulatedEvent) driverWaitForSignal(ctx context.Context, t time.Time, timed bool) (signalled bool, _ error) {
	err := ctx.Err()
	if err != nil {
		return false, err
	}
	if !timed || t.After(e.p.s.now) {
		err = e.p.driverWait(ctx, t, func() bool { return e.set })
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

// Open implements Latch.
func (l *simulatedLatch) Open() {
	if l.open {
		return
	}
	l.open = true
	close(l.done)
	for _, c := range l.waiters {
		l.p.s.makeReady(c, wokenBySignal)
	}
	l.waiters = nil
}

// Opened implements Latch.
func (l *simulatedLatch) Opened() bool { return l.open }

// Done implements Latch.
func (l *simulatedLatch) Done() <-chan struct{} { return l.done }

// Wait implements Latch.
func (l *simulatedLatch) Wait(ctx context.Context) error {
	if l.open && !l.p.crashed {
		return nil
	}
	if l.p.driverMayWait() {
		return l.p.driverWait(ctx, time.Time{}, func() bool { return l.open })
	}
	c, err := l.p.currentCoroutineForWait(ctx)
	if err != nil {
		return err
	}
	l.waiters = append(l.waiters, c)
	by, err := l.p.parkUntilWoken(c, ctx, time.Time{}, false)
	if by == wokenByContext && l.open {
		return nil // If the latch is open and the context has ended, the latch counts.
	}
	if i := slices.Index(l.waiters, c); i >= 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
	}
	return err
}

// processClock is the clock of a simulated process. It only tells the time: a wait on one of its
// channels would block the only thread, so it panics.
type processClock struct{ p *Process }

const noChannelsMessage = "executor: in a simulation nothing waits on a clock's channel or timer: wait by podworkers.Wait(ctx, d)"

// simulatedExecutor returns the simulated process to which the clock belongs.
func (c processClock) simulatedExecutor() Executor        { return c.p }
func (c processClock) Now() time.Time                     { return c.p.s.now }
func (c processClock) Since(t time.Time) time.Duration    { return c.p.s.now.Sub(t) }
func (processClock) After(time.Duration) <-chan time.Time { panicFault(noChannelsMessage); return nil }
func (processClock) NewTimer(time.Duration) clock.Timer   { panicFault(noChannelsMessage); return nil }
func (processClock) Sleep(time.Duration)                  { panicFault(noChannelsMessage) }
func (processClock) Tick(time.Duration) <-chan time.Time  { panicFault(noChannelsMessage); return nil }
func (processClock) NewTicker(time.Duration) clock.Ticker { panicFault(noChannelsMessage); return nil }
