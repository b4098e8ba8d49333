package contact

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// A server that answers some calls and refuses others seems to come back with each answer. So
// the ends of outages wake only so many times in a row, and once more after each pause.
const (
	wakes     = 5
	wakePause = 15 * time.Second
)

// Config is what a Contact is made of. The zero value is complete.
type Config struct {
	// Clock is what Wait waits on. Nil: the real clock.
	Clock clock.Clock
}

// State is what is known of the server.
type State struct {
	// Answers reports whether the last call that proves something was answered. It is true
	// before the first call.
	Answers bool
	// Since is when that began; zero before the first call.
	Since time.Time
	// Failures are the failures since the last answer.
	Failures int
	// Err is the last failure; nil while the server answers.
	Err error
	// Outages are those that have ended. Wait ends with the next one. Of many short ones in a
	// row most are not counted.
	Outages int
}

// Contact learns from calls whether the server answers. Make one with New. Its methods are
// safe for concurrent use.
type Contact struct {
	executor executor.Executor

	mu struct {
		sync.Mutex
		state   State
		waiting []*waiter
		wakes   time.Time // until when those that were made are paid for by pauses
	}
}

// waiter is called when an outage ends.
type waiter struct{ wake func() }

// New makes a Contact that knows of no call yet.
func New(cfg Config) *Contact {
	c := &Contact{executor: executor.Over(cfg.Clock)}
	c.mu.state.Answers = true
	return c
}

// Report says how a call of the server has ended; nil is an answer. It is called after
// every call, with the error as it came; context.Canceled, by which its caller has given up,
// proves nothing.
func (c *Contact) Report(err error) {
	failure, answer := means(err)
	if !failure && !answer {
		return
	}
	now := c.executor.Now()
	for _, w := range c.report(err, answer, now) {
		w.wake()
	}
}

// report notes a call, and returns whom to wake.
func (c *Contact) report(err error, answer bool, now time.Time) []*waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.mu.state
	if answer != s.Answers || s.Since.IsZero() {
		s.Answers, s.Since = answer, now
	}
	if !answer {
		s.Failures++
		s.Err = err
		return nil
	}
	ended := s.Failures > 0
	s.Failures, s.Err = 0, nil
	paid := c.mu.wakes
	if paid.Before(now) {
		paid = now
	}
	if !ended || paid.Sub(now) > (wakes-1)*wakePause {
		return nil
	}
	c.mu.wakes = paid.Add(wakePause)
	s.Outages++
	return slices.Clone(c.mu.waiting)
}

// means says whether the end of a call proves that the server is away or that it is there.
func means(err error) (failure, answer bool) {
	switch a := patch.AnswerToPatch(err); {
	case errors.Is(err, context.Canceled):
		return false, false
	case apierrors.IsResourceExpired(err):
		return false, true
	case a.Kind == patch.WaitAll:
		busy := apierrors.IsTooManyRequests(err)
		return !busy, false
	case a.Kind == patch.Retry:
		return false, false
	}
	return false, true
}

// State returns what is known.
func (c *Contact) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.state
}

// OnAnswer has wake called whenever an outage has ended that counts (see State), by the goroutine that reports and
// with no lock held. It must not block. The returned function ends that.
func (c *Contact) OnAnswer(wake func()) (stop func()) {
	w := &waiter{wake}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.waiting = append(c.mu.waiting, w)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.waiting = slices.DeleteFunc(slices.Clone(c.mu.waiting), func(o *waiter) bool { return o == w })
	}
}

// Wait waits for d, or until an outage has ended that had not ended at outages, which is
// State.Outages from before the call that failed; it reports whether one has. It ends with
// ctx and its error.
func (c *Contact) Wait(ctx context.Context, outages int, d time.Duration) (answered bool, err error) {
	event := c.executor.NewEvent()
	stop := c.OnAnswer(event.Signal)
	defer stop()
	until := c.executor.Now().Add(d)
	for c.State().Outages == outages {
		if woken, err := event.WaitUntil(ctx, until); err != nil || !woken {
			return false, err
		}
	}
	return true, ctx.Err()
}
