package executor

import (
	"context"
	"errors"
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
	if clk == nil {
		clk = clock.RealClock{}
	}
	if s, ok := clk.(seamer); ok {
		return s.executor()
	}
	return real{clk}
}
