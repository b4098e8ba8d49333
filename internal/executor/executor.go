package executor

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ErrCrashed is what every wait of a crashed process returns. Code over the
// seam treats it as any other failed wait: it returns.
var ErrCrashed = errors.New("executor: the process has crashed")

// Executor is the one seam through which code that a simulation may drive reads the
// time, waits and forks. All methods are safe for concurrent use in the
// production half; the simulation's half belongs to one thread by construction.
type Executor interface {
	// Now is the current time: the injected clock's, or the simulation's.
	Now() time.Time
	// Sleep waits until d has passed and returns nil, or returns early with
	// the context's error. A d of zero or less still lets others run.
	Sleep(ctx context.Context, d time.Duration) error
	// Go runs f concurrently with the caller. Nothing waits for it: who needs
	// to know when it has ended uses a Group. If f panics, the program ends; in
	// a simulation, the driver's Step panics with a *Panicked.
	Go(f func())
	// NewEvent makes an Event. It holds no resources and needs no closing.
	NewEvent() Event
	// NewLatch makes a Latch that is not open.
	NewLatch() Latch
	// WithDeadline derives a context that ends with DeadlineExceeded at t, or
	// earlier with its parent. The cancel function must be called.
	WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
}

// Event is a coalescing wake-up: any number of signals before a wait are one.
// One waiter at a time.
type Event interface {
	// Signal wakes the waiter, or makes the next wait return at once. It
	// never blocks and may be called from anywhere.
	Signal()
	// Wait takes the signal, waiting for one if there is none. It returns the
	// context's error if that ends first. An ended context wins over a pending
	// signal, which stays: a loop that signals itself can be stopped.
	Wait(ctx context.Context) error
	// WaitUntil is Wait bounded by t. It reports whether a signal was taken;
	// false with a nil error means that t is not after now.
	WaitUntil(ctx context.Context, t time.Time) (bool, error)
}

// Latch opens once and stays open. Any number may wait for it.
type Latch interface {
	// Open opens the latch. Opening it again does nothing.
	Open()
	// Opened reports whether it is open.
	Opened() bool
	// Done is closed when the latch opens: for people who select. Nothing that
	// a simulation drives may receive from it; that is what Wait is for.
	Done() <-chan struct{}
	// Wait returns nil once the latch is open, or the context's error.
	Wait(ctx context.Context) error
}

// seamer is a clock that brings its own seam along, as a simulation's does.
type seamer interface{ executor() Executor }

// Over gives the seam that goes with a clock: the simulation's own for a simulation's
// clock, otherwise the production half built on it. A nil clock is the real
// one. This is how an embedder gives a clock and never sees the seam.
func Over(clk clock.Clock) Executor {
	clk = cmp.Or[clock.Clock](clk, clock.RealClock{})
	if s, ok := clk.(seamer); ok {
		return s.executor()
	}
	return real{clk}
}

// real is the production half: goroutines, channels and the injected clock.
type real struct{ clk clock.Clock }

func (r real) Now() time.Time { return r.clk.Now() }

func (r real) Sleep(ctx context.Context, d time.Duration) error {
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

func (r real) Go(f func()) { go f() }

func (r real) NewEvent() Event { return realEvent{r.clk, make(chan struct{}, 1)} }

func (r real) NewLatch() Latch { return &realLatch{done: make(chan struct{})} }

// WithDeadline uses the standard library's timer where the clock is the real
// one (which in a synctest bubble is virtual), and otherwise a goroutine that
// ends with the context.
func (r real) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
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

func (e realEvent) Signal() {
	select {
	case e.ch <- struct{}{}:
	default: // One signal is pending already, and one is all there is to say.
	}
}

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

func (e realEvent) WaitUntil(ctx context.Context, t time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	left := t.Sub(e.clk.Now())
	if left <= 0 {
		return e.take(), nil
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

// take takes the signal if there is one, without waiting.
func (e realEvent) take() bool {
	select {
	case <-e.ch:
		return true
	default:
		return false
	}
}

type realLatch struct {
	once sync.Once
	done chan struct{}
}

func (l *realLatch) Open() { l.once.Do(func() { close(l.done) }) }

func (l *realLatch) Opened() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *realLatch) Done() <-chan struct{} { return l.done }

func (l *realLatch) Wait(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		// Open and cancelled at once counts as open: the answer is known.
		if l.Opened() {
			return nil
		}
		return ctx.Err()
	}
}
