package turn

import (
	"container/heap"
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Process is one program in a bottle: the seam it runs on, and the unit that
// crashes. Several can share a scheduler, and one may be started after
// another's crash, as a machine restarts an agent.
type Process struct {
	s       *Scheduler
	running []*coroutine
	crashed bool
	refused int
}

// unwind is how often a crashed process may try to wait before it is plain
// that some loop ignores the error.
const unwind = 10_000

// NewProcess makes a process on the scheduler. It runs nothing yet.
func (s *Scheduler) NewProcess() *Process { return &Process{s: s} }

// Clock is the clock to hand to a Config: Over finds this process behind it.
func (p *Process) Clock() clock.WithTicker { return processClock{p} }

// Running is how many coroutines the process has.
func (p *Process) Running() int { return len(p.running) }

// Crashed reports whether Crash was called.
func (p *Process) Crashed() bool { return p.crashed }

// Crash ends the process where it stands. Every parked wait returns
// ErrCrashed, so does every later one, nothing can be forked any more, and
// when Crash returns all coroutines have unwound. It is called by the driver.
func (p *Process) Crash() {
	p.crashed = true
	for len(p.running) > 0 {
		c := p.running[len(p.running)-1]
		p.forget(c)
		p.s.current = c
		c.stop()
		p.s.current = nil
		p.leave(c)
	}
}

// forget takes c out of the scheduler's queues.
func (p *Process) forget(c *coroutine) {
	p.s.wake(c, wokenByCrash)
	ready := p.s.ready[:0]
	for _, r := range p.s.ready {
		if r != c {
			ready = append(ready, r)
		}
	}
	p.s.ready = ready
}

// leave takes an ended coroutine out of the process.
func (p *Process) leave(c *coroutine) {
	last := len(p.running) - 1
	p.running[c.index] = p.running[last]
	p.running[c.index].index = c.index
	p.running[last] = nil
	p.running = p.running[:last]
}

// Now implements Turn.
func (p *Process) Now() time.Time { return p.s.now }

// Go implements Turn. A crashed process forks nothing.
func (p *Process) Go(f func()) {
	if p.crashed {
		return
	}
	c := newCoroutine(p, f)
	c.index = len(p.running)
	p.running = append(p.running, c)
	p.s.ready = append(p.s.ready, c)
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

// Sleep implements Turn.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	by, err := p.park(ctx, p.s.now.Add(d), true, nil)
	if err != nil || by == wokenByTime {
		return err
	}
	return ctx.Err()
}

// NewEvent implements Turn.
func (p *Process) NewEvent() Event { return &bottledEvent{p: p} }

// NewLatch implements Turn.
func (p *Process) NewLatch() Latch { return &bottledLatch{p: p, done: make(chan struct{})} }

// WithDeadline implements Turn with a coroutine that sleeps until t.
func (p *Process) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	c := NewContext(ctx)
	c.deadline = t
	p.Go(func() {
		if p.Sleep(c, t.Sub(p.s.now)) == nil {
			c.Cancel(context.DeadlineExceeded)
		}
	})
	return c, func() { c.Cancel(context.Canceled) }
}

// park suspends the running coroutine until it is woken by signal (which the
// caller has registered), by time if timed, or by the end of ctx. undo is
// called when it was not the signal.
func (p *Process) park(ctx context.Context, due time.Time, timed bool, undo func()) (cause, error) {
	if p.crashed {
		if p.refused++; p.refused > unwind {
			panic("turn: a loop ignores that its process has crashed")
		}
		if undo != nil {
			undo()
		}
		return wokenByCrash, ErrCrashed
	}
	c := p.s.current
	if c == nil || c.p != p {
		panic("turn: the driver of a bottle waits inside it: use Process.Go and Scheduler.RunUntil")
	}
	if err := ctx.Err(); err != nil {
		if undo != nil {
			undo()
		}
		return wokenByContext, err
	}
	p.arm(c, ctx, due, timed)
	if !c.yield(struct{}{}) {
		c.woken = wokenByCrash
	}
	if c.woken != wokenBySignal && undo != nil {
		undo()
	}
	switch c.woken {
	case wokenByCrash:
		return wokenByCrash, ErrCrashed
	case wokenByContext:
		return wokenByContext, ctx.Err()
	}
	return c.woken, nil
}

// arm sets what may wake c besides a signal. A time that has come makes c
// ready at once: it still gives others their turn.
func (p *Process) arm(c *coroutine, ctx context.Context, due time.Time, timed bool) {
	c.parked = true
	if ctx.Done() != nil {
		c.unlink = afterFunc(ctx, func() { p.s.wake(c, wokenByContext) })
	}
	if !timed {
		return
	}
	if !due.After(p.s.now) {
		p.s.wake(c, wokenByTime)
		return
	}
	c.timer.due, c.timer.tie = due, p.s.random.Uint64()
	heap.Push(&p.s.timers, &c.timer)
}

// bottledEvent is an Event of a process.
type bottledEvent struct {
	p      *Process
	set    bool
	waiter *coroutine
}

func (e *bottledEvent) Signal() {
	if c := e.waiter; c != nil {
		e.waiter = nil
		e.p.s.wake(c, wokenBySignal)
		return
	}
	e.set = true
}

func (e *bottledEvent) Wait(ctx context.Context) error {
	_, err := e.wait(ctx, time.Time{}, false)
	return err
}

func (e *bottledEvent) WaitUntil(ctx context.Context, t time.Time) (bool, error) {
	return e.wait(ctx, t, true)
}

func (e *bottledEvent) wait(ctx context.Context, t time.Time, timed bool) (bool, error) {
	if e.set && !e.p.crashed {
		e.set = false
		return true, nil
	}
	if e.waiter != nil && !e.p.crashed {
		panic("turn: two wait for one event")
	}
	e.waiter = e.p.s.current
	by, err := e.p.park(ctx, t, timed, func() { e.waiter = nil })
	return by == wokenBySignal, err
}

// bottledLatch is a Latch of a process.
type bottledLatch struct {
	p       *Process
	open    bool
	done    chan struct{}
	waiters []*coroutine
}

func (l *bottledLatch) Open() {
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

func (l *bottledLatch) Opened() bool { return l.open }

func (l *bottledLatch) Done() <-chan struct{} { return l.done }

func (l *bottledLatch) Wait(ctx context.Context) error {
	if l.open && !l.p.crashed {
		return nil
	}
	c := l.p.s.current
	l.waiters = append(l.waiters, c)
	_, err := l.p.park(ctx, time.Time{}, false, func() { l.drop(c) })
	return err
}

func (l *bottledLatch) drop(c *coroutine) {
	for i, w := range l.waiters {
		if w == c {
			l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
			return
		}
	}
}

// processClock is the clock of a bottled process. It tells the time; whoever
// would wait on one of its channels would stop the only thread there is.
type processClock struct{ p *Process }

const noChannels = "turn: in a bottle nothing waits on a clock's channel"

func (c processClock) turn() Turn                         { return c.p }
func (c processClock) Now() time.Time                     { return c.p.s.now }
func (c processClock) Since(t time.Time) time.Duration    { return c.p.s.now.Sub(t) }
func (processClock) After(time.Duration) <-chan time.Time { panic(noChannels) }
func (processClock) NewTimer(time.Duration) clock.Timer   { panic(noChannels) }
func (processClock) Sleep(time.Duration)                  { panic(noChannels) }
func (processClock) Tick(time.Duration) <-chan time.Time  { panic(noChannels) }
func (processClock) NewTicker(time.Duration) clock.Ticker { panic(noChannels) }
