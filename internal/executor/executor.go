package executor

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ErrCrashed is returned by every wait of a crashed process. The caller treats it as any other
// failed wait: it returns.
var ErrCrashed = errors.New("executor: the process has crashed")

// Executor is the only way in which code that a simulation may run reads the time, waits and starts
// goroutines. In production all methods are safe for concurrent use. A simulation has one thread.
type Executor interface {
	// Now returns the current time, of the injected clock or of the simulation.
	Now() time.Time
	// Sleep waits until d has passed and returns nil, or returns early with the context's error. In
	// a simulation a d of zero or less still lets other coroutines run.
	Sleep(ctx context.Context, d time.Duration) error
	// Go runs f concurrently with the caller. Nothing waits for f: use a Group for that. If f
	// panics, the program ends; in a simulation, the driver's Step panics with a *Panicked.
	Go(f func())
	// NewEvent returns an Event. It holds no resources and needs no closing.
	NewEvent() Event
	// NewLatch returns a Latch that is not open yet.
	NewLatch() Latch
	// WithDeadline derives a context that ends with DeadlineExceeded at t, or earlier with its
	// parent. The cancel function must be called.
	WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
}

// Event is a wake-up for one waiter. Several signals before a wait count as one. A second waiter is an
// error of the caller: in a simulation it panics, and in production a signal wakes one of the two.
type Event interface {
	// Signal wakes the waiter, or makes the next wait return at once. It never blocks. In production
	// any goroutine may call it, and in a simulation only coroutines and the driver.
	Signal()
	// Wait waits for a signal and consumes it. It returns the context's error if ctx ends first. If
	// ctx has ended and a signal is pending, it returns the error and keeps the signal, so that a
	// loop that signals itself can be stopped.
	Wait(ctx context.Context) error
	// WaitUntil is Wait with a time limit. It reports whether it consumed a signal; false with a
	// nil error means that t has come.
	WaitUntil(ctx context.Context, t time.Time) (bool, error)
}

// Latch opens once and stays open. Any number of callers may wait for it.
type Latch interface {
	// Open opens the latch. Opening it again does nothing.
	Open()
	// Opened reports whether the latch is open.
	Opened() bool
	// Done returns a channel that Open closes, for a select. Code in a simulation must use Wait
	// instead.
	Done() <-chan struct{}
	// Wait returns nil once the latch is open, or the context's error.
	Wait(ctx context.Context) error
}

// clockWithExecutor is a clock that has its own executor, as the clock of a simulation does.
type clockWithExecutor interface{ simulatedExecutor() Executor }

// Over returns the executor for a clock: the simulation's for a clock of a simulation, and
// otherwise the production implementation on that clock. A nil clock is the real one. So an
// embedder passes a clock and never sees the executor.
func Over(clk clock.Clock) Executor {
	clk = cmp.Or[clock.Clock](clk, clock.RealClock{})
	if s, ok := clk.(clockWithExecutor); ok {
		return s.simulatedExecutor()
	}
	return realExecutor{clk}
}

// realExecutor is the production implementation: goroutines, channels and the injected clock.
type realExecutor struct{ clk clock.Clock }

// Now implements Executor.
func (r realExecutor) Now() time.Time { return r.clk.Now() }

// Sleep implements Executor.
func (r realExecutor) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := r.clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Go implements Executor.
func (r realExecutor) Go(f func()) { go f() }

// NewEvent implements Executor.
func (r realExecutor) NewEvent() Event { return realEvent{r.clk, make(chan struct{}, 1)} }

// NewLatch implements Executor.
func (r realExecutor) NewLatch() Latch { return &realLatch{done: make(chan struct{})} }

// WithDeadline implements Executor. On the real clock, which is virtual in a synctest bubble, it
// uses the standard library. Otherwise it starts a goroutine that ends with the context.
func (r realExecutor) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	if _, ok := r.clk.(clock.RealClock); ok {
		return context.WithDeadline(ctx, t)
	}
	c := NewContext(ctx)
	c.deadline = t
	cancel := func() { c.Cancel(context.Canceled) }
	left := t.Sub(r.clk.Now())
	if left <= 0 {
		c.Cancel(context.DeadlineExceeded)
		return c, cancel
	}
	timer := r.clk.NewTimer(left)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			c.Cancel(context.DeadlineExceeded)
		case <-c.Done():
		}
	}()
	return c, cancel
}

// realEvent keeps its signal in a channel of capacity one.
type realEvent struct {
	clk clock.Clock
	ch  chan struct{}
}

// Signal implements Event.
func (e realEvent) Signal() {
	select {
	case e.ch <- struct{}{}:
	default: // A signal is already pending.
	}
}

// Wait implements Event.
func (e realEvent) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-e.ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WaitUntil implements Event.
func (e realEvent) WaitUntil(ctx context.Context, t time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	left := t.Sub(e.clk.Now())
	if left <= 0 {
		return e.tryTakeSignal(), nil
	}
	timer := e.clk.NewTimer(left)
	defer timer.Stop()
	select {
	case <-e.ch:
		return true, nil
	case <-timer.C():
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// tryTakeSignal consumes a pending signal and returns true. It returns false at once if no signal is pending.
func (e realEvent) tryTakeSignal() (taken bool) {
	select {
	case <-e.ch:
		return true
	default:
		return false
	}
}

// realLatch is the Latch of a realExecutor.
type realLatch struct {
	once sync.Once
	done chan struct{}
}

// Open implements Latch.
func (l *realLatch) Open() { l.once.Do(func() { close(l.done) }) }

// Opened implements Latch.
func (l *realLatch) Opened() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Done implements Latch.
func (l *realLatch) Done() <-chan struct{} { return l.done }

// Wait implements Latch.
func (l *realLatch) Wait(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		// If the latch is open and the context has ended, the latch counts.
		if l.Opened() {
			return nil
		}
		return ctx.Err()
	}
}
