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
	// Available reports whether the last conclusive call was answered. It is true before the first call.
	Available bool
	// Since is when Available got its value; zero before the first call.
	Since time.Time
	// Failures are the failures since the last answer.
	Failures int
	// Err is the last failure; nil while the server answers.
	Err error
	// Outages is the number of counted outages that have ended. Wait returns when it grows. Of many short outages in a
	// row, the first five are counted, and then one per 15 s.
	Outages int
	// OutagesBegun is the number of outages that have begun. Every outage counts.
	OutagesBegun int
}

// Contact derives from the results of calls whether the API server answers. Make one with New. Its methods are safe for
// concurrent use.
type Contact struct {
	executor executor.Executor

	mu struct {
		sync.Mutex
		state       State
		subscribers []*subscriber // of OnOutageEnd, and of each running Wait
		// fullBurstAt is when maxWakes wakes in a row are allowed again. Each wake delays it by wakePause.
		fullBurstAt time.Time
	}
}

// subscriber is called when a counted outage ends.
type subscriber struct{ wake func() }

// New returns a Contact that has seen no call.
func New(cfg Config) *Contact {
	c := &Contact{executor: executor.Over(cfg.Clock)}
	c.mu.state.Available = true
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

// recordResult records whether the API server has answered a call, and the error if it has not. It returns the
// subscribers to wake if the call ends an outage. Of many short outages in a row the first few wake the
// subscribers, and then one outage per 15 seconds.
func (c *Contact) recordResult(err error, answered bool, now time.Time) (toWake []*subscriber) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.mu.state
	if answered != s.Available || s.Since.IsZero() {
		s.Available, s.Since = answered, now
	}
	if !answered {
		if s.Failures == 0 {
			s.OutagesBegun++
		}
		s.Failures++
		s.Err = err
		return nil
	}
	endsOutage := s.Failures > 0
	s.Failures, s.Err = 0, nil
	fullBurstAt := c.mu.fullBurstAt
	if fullBurstAt.Before(now) {
		fullBurstAt = now
	}
	if !endsOutage || fullBurstAt.Sub(now) > (maxWakes-1)*wakePause {
		return nil
	}
	c.mu.fullBurstAt = fullBurstAt.Add(wakePause)
	s.Outages++
	return slices.Clone(c.mu.subscribers)
}

// classifyResult reports whether the result of an API call proves that the server is unavailable, or that the
// server answers. Both results are false if it proves neither, for example after a cancellation.
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

// OnOutageEnd subscribes wake to the ends of counted outages (see State). The goroutine that reports the answer calls
// wake without a lock. wake must not block. The returned function ends the subscription.
func (c *Contact) OnOutageEnd(wake func()) (stop func()) {
	w := &subscriber{wake}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.subscribers = append(c.mu.subscribers, w)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.subscribers = slices.DeleteFunc(slices.Clone(c.mu.subscribers), func(o *subscriber) bool { return o == w })
	}
}

// Wait waits for d, or until State.Outages differs from outages, which the caller read before the failed call. It
// reports whether a counted outage has ended. It returns the error of ctx.
func (c *Contact) Wait(ctx context.Context, outages int, d time.Duration) (answered bool, err error) {
	event := c.executor.NewEvent()
	stop := c.OnOutageEnd(event.Signal)
	defer stop()
	until := c.executor.Now().Add(d)
	for c.State().Outages == outages {
		if woken, err := event.WaitUntil(ctx, until); err != nil || !woken {
			return false, err
		}
	}
	return true, ctx.Err()
}
