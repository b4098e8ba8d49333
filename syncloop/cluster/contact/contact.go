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

// A server that answers some calls and refuses others seems to recover with each answer. Therefore the ends of outages
// wake subscribers at most maxWakes times in a row, and then once per wakePause.
const (
	maxWakes  = 5
	wakePause = 15 * time.Second
)

// Config configures a Contact. The zero value is complete.
type Config struct {
	// Clock is the clock of Wait. Nil: the real clock.
	Clock clock.Clock
}

// State is the observed availability of the server.
type State struct {
	// Answers reports whether the last conclusive call was answered. It is true before the first call.
	Answers bool
	// Since is when Answers got its value; zero before the first call.
	Since time.Time
	// Failures are the failures since the last answer.
	Failures int
	// Err is the last failure; nil while the server answers.
	Err error
	// Outages is the number of outages that have ended. Wait returns after the next one. Of many short outages in a
	// row, most are not counted.
	Outages int
}

// Contact derives from the results of calls whether the API server answers. Make one with New. Its methods are safe for
// concurrent use.
type Contact struct {
	executor executor.Executor

	mu struct {
		sync.Mutex
		state   State
		waiting []*subscriber
		wakes   time.Time // until when pauses have paid for the wakes that were made
	}
}

// subscriber is called when an outage ends.
type subscriber struct{ wake func() }

// New returns a Contact that has seen no call.
func New(cfg Config) *Contact {
	c := &Contact{executor: executor.Over(cfg.Clock)}
	c.mu.state.Answers = true
	return c
}

// Report records the result of a call to the server; nil is an answer. Call it after every call, with the unchanged
// error. context.Canceled proves nothing, because the caller has given up.
func (c *Contact) Report(err error) {
	failure, answer := classifyResult(err)
	if !failure && !answer {
		return
	}
	now := c.executor.Now()
	for _, w := range c.recordResult(err, answer, now) {
		w.wake()
	}
}

// recordResult records the result of a call, and returns the subscribers to wake.
func (c *Contact) recordResult(err error, answer bool, now time.Time) []*subscriber {
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
	if !ended || paid.Sub(now) > (maxWakes-1)*wakePause {
		return nil
	}
	c.mu.wakes = paid.Add(wakePause)
	s.Outages++
	return slices.Clone(c.mu.waiting)
}

// classifyResult reports whether a call proves that the server is away, or that it answers. Both are false if the call
// proves nothing.
func classifyResult(err error) (failure, answer bool) {
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

// State returns the current state.
func (c *Contact) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.state
}

// OnAnswer subscribes wake to the ends of counted outages (see State). The goroutine that reports the answer calls wake
// without a lock. wake must not block. The returned function ends the subscription.
func (c *Contact) OnAnswer(wake func()) (stop func()) {
	w := &subscriber{wake}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.waiting = append(c.mu.waiting, w)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.waiting = slices.DeleteFunc(slices.Clone(c.mu.waiting), func(o *subscriber) bool { return o == w })
	}
}

// Wait waits for d, or until State.Outages differs from outages, which the caller read before the failed call. It
// reports whether an outage has ended. It returns the error of ctx.
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
