package executor

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

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
// lives as long as the context does.
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
