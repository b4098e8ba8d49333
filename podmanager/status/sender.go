package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/status/internal/outbox"
	"github.com/podkeel/podkeel/runtime"
)

// Sink receives statuses: an API server, another machine, a file.
type Sink interface {
	// Send sends one status to the destination. The Sender calls it concurrently for different pods,
	// and for one pod in the order of changes, one call at a time. Send must return soon after ctx
	// ends. The sink owns the update.
	//
	// A nil error means that the status is complete: it is stored, or the destination no longer has
	// the pod. After any other error the Sender sends the status again later. An error that wraps
	// ErrRefused or ErrNotYet, or that RetryAfter or Unavailable returned, changes whether and when.
	//
	// The sink has four duties:
	//
	//   - It stores nothing for a pod if the destination has another UID for it.
	//   - It calls Merge if other writers change conditions or fields at the destination.
	//   - It returns ErrNotYet for a static pod without a mirror pod.
	//   - If the update has Finished and the pod is being deleted, it deletes the pod from the
	//     destination, after the destination has stored the terminal phase. Without Finished,
	//     containers of the pod may still run.
	//
	// The sink need not store statuses itself: a Sender that starts sends every status once.
	Send(ctx context.Context, u Update) error
}

// ErrUnsent is wrapped by the error of a Run that could not send everything.
var ErrUnsent = errors.New("status: not everything was sent")

// The defaults of a SenderConfig.
const (
	// DefaultSendWorkers is the number of statuses that are sent concurrently.
	DefaultSendWorkers = 16
	// DefaultSendTimeout is the time limit of one call of the sink.
	DefaultSendTimeout = 30 * time.Second
	// DefaultSendDrain is how long Run keeps sending after its context has ended.
	DefaultSendDrain = 10 * time.Second
)

// SenderConfig configures a Sender. Store and Sink are required.
type SenderConfig struct {
	// Store provides the statuses. Run subscribes to it once.
	Store Statuses
	// Sink receives the statuses.
	Sink Sink
	// Workers is the number of statuses that are sent concurrently, each of another pod. Zero: 16.
	Workers int
	// Timeout is the time limit of one call of the sink. Zero: 30 seconds.
	Timeout time.Duration
	// Delay is how long the Sender waits after a change before it sends the newest status of the pod. It does not send
	// the statuses in between. A Sender that is stopping does not wait. After a failed send the
	// pauses of Retry apply instead. Zero: it sends each change at once, and what
	// changes during a send after it.
	Delay time.Duration
	// Retry returns the pause before the status of a pod is sent again, after this number of
	// failures in a row, at least one. A newer status waits for the first pause only. Nil: one
	// second, doubled each time, at most a minute.
	Retry func(failures int) time.Duration
	// Drain is how long the Sender keeps sending after the context of Run has ended. Zero: ten
	// seconds. Negative: it sends nothing more. Then a pod whose terminal phase is held back counts as
	// unsent, unlike otherwise.
	Drain time.Duration
	// CouldRun reports whether containers of a pod could still run. While it returns true, the
	// Sender does not send a terminal phase of the pod: a controller could otherwise start a
	// replacement while containers of this pod still run. It sends the rest of the status. If the
	// status has no running container and the pod is terminal or deleted, the Sender waits up to
	// 100 ms for the store to mark the pod as Finished, so that one status shows the final state. A
	// Sender that is stopping does not wait. CouldRun is called without a lock. A panic counts as
	// true. Nil: no terminal phase is held back, and the Sender does not wait.
	CouldRun func(uid types.UID) bool
	// Clock provides the time. Nil: the real clock.
	Clock clock.Clock
	// Log receives a line for each failure. Nil discards it.
	Log *slog.Logger
	// Hooks observe the Sender.
	Hooks SenderHooks
}

// SenderHooks observe a Sender. Each may be nil. The Sender calls them without a lock, possibly
// concurrently.
type SenderHooks struct {
	// Sent is called after the sink has stored a status. took is the time since the first change in
	// it.
	Sent func(u Update, took time.Duration)
	// Failed is called after a send has failed, with the pause until the next try. A pause of zero
	// means that the sink has rejected the status and the Sender does not send it again. ErrNotYet
	// is not reported.
	Failed func(u Update, err error, pause time.Duration)
	// Panicked is called after each contained panic of the sink, the log, CouldRun, Retry or
	// another hook, with the name of the call.
	Panicked func(call string, err error)
}

// containPanics wraps CouldRun, Retry and the hooks Sent and Failed, so that a panic in one of them does not
// stop the Sender. After a panic CouldRun counts as true and Retry as the default. It returns the guard.
// callSink handles a panic of the sink.
func (c *SenderConfig) containPanics() *contain.Guard {
	g := contain.New(contain.Config{Package: "status", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	if could := c.CouldRun; could != nil {
		c.CouldRun = func(uid types.UID) bool {
			return contain.CallOrDefault(g, "CouldRun", true, func() bool { return could(uid) })
		}
	}
	retry := c.Retry
	c.Retry = func(failures int) time.Duration {
		return contain.CallOrDefault(g, "Retry", defaultRetryDelay(failures), func() time.Duration { return retry(failures) })
	}
	c.Hooks.Sent = contain.Hook2(g, "Hooks.Sent", c.Hooks.Sent)
	c.Hooks.Failed = contain.Hook3(g, "Hooks.Failed", c.Hooks.Failed)
	return g
}

// defaultRetryDelay returns the delay after a number of failures: one second, doubled with each further
// failure, at most one minute.
func defaultRetryDelay(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), time.Minute)
}

// setDefaultsAndCheck sets the defaults and returns an error that names every missing or invalid field.
func (c *SenderConfig) setDefaultsAndCheck() error {
	done := contain.CheckConfig("status: SenderConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Sink == nil, "Sink")
	contain.DefaultNumber(done, "Workers", &c.Workers, DefaultSendWorkers)
	contain.DefaultNumber(done, "Timeout", &c.Timeout, DefaultSendTimeout)
	contain.DefaultNumber(done, "Delay", &c.Delay, 0)
	c.Drain = cmp.Or(c.Drain, DefaultSendDrain)
	contain.SetDefault(&c.Retry, defaultRetryDelay)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// Sender sends the newest status of every changed pod to a Sink. It has no goroutine for a pod
// without an update. NewSender returns one.
type Sender struct {
	cfg      SenderConfig
	guard    *contain.Guard
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool
	draining atomic.Bool // the context of Run has ended

	mu struct {
		sync.Mutex
		box  *outbox.Box[Update]
		busy int
		sent map[types.UID]*sentState
		// outages counts the pauses after Unavailable in a row, and outageEnd is the end of the current
		// pause.
		outages   int
		outageEnd time.Time
		resend    map[types.UID]bool // true: ResendNow
	}
}

// sentState is the last status of a pod that the sink has stored or refused.
type sentState struct {
	version, epoch  uint64
	ready           v1.ConditionStatus
	phase           v1.PodPhase
	reason, message string
	held            bool            // the terminal phase of the store was held back
	deadline        outbox.Deadline // of the wait for Finished
	failures        int
	resendRequested bool      // Resend was called since the last send
	nextResend      time.Time // the earliest time of the next Resend
}

// NewSender returns a Sender that has not sent anything. It returns an error if the config is
// invalid.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if err := cfg.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	s := &Sender{guard: cfg.containPanics(), executor: executor.Over(cfg.Clock)}
	s.cfg = cfg
	s.wake = s.executor.NewEvent()
	s.mu.box = outbox.New[Update]()
	s.mu.sent, s.mu.resend = make(map[types.UID]*sentState), make(map[types.UID]bool)
	return s, nil
}

// Run sends statuses until ctx ends, beginning with every stored status. Then it sends the rest for
// at most Drain and returns when the last call of the sink has returned. It does not wait for a
// call that ignores the end of its context for longer than Timeout. Run returns nil if everything
// was sent. Otherwise the error wraps ErrUnsent. It names the pods, except for such a call of the
// sink.
//
// When ctx ends, Run calls CouldRun once more for a terminal phase that is held back, and sends the
// pod without that phase if it could still run; this is no error. A send that waits after a failure
// is tried at once, and later with the pauses after a first failure. A second call of Run returns
// runtime.ErrSecondRun.
func (s *Sender) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return fmt.Errorf("status: %w", runtime.ErrSecondRun)
	}
	sub := s.cfg.Store.Subscribe(s.wake.Signal)
	defer sub.Close()
	sending, cancel := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(s.executor)
	var updates []Update
	for {
		updates = sub.TakeAll(updates[:0])
		s.queueUpdates(updates)
		s.queueRequestedResends()
		s.startSends(sending, group)
		if s.waitForWork(ctx, time.Time{}) != nil {
			break
		}
	}
	err := s.sendRemaining(sending, group, sub)
	cancel()
	if !group.WaitUntil(s.executor.Now().Add(s.cfg.Timeout)) {
		return errors.Join(err, fmt.Errorf("%w: the sink ignores that the context of its call has ended", ErrUnsent))
	}
	return err
}

// sendRemaining ends all delays and sends until no status is left to send, for at most Drain. If statuses are
// left after Drain, it returns an ErrUnsent with the UIDs of their pods.
func (s *Sender) sendRemaining(sending context.Context, group *executor.Group, sub Subscription) error {
	deadline := s.executor.Now().Add(s.cfg.Drain)
	s.queueRequestedResends() // makeAllDue then includes the requests from before the end of ctx.
	s.draining.Store(true)    // Before makeAllDue, so that no pod is delayed after it.
	s.makeAllDue()
	for {
		s.queueUpdates(sub.TakeAll(nil))
		s.queueRequestedResends()
		if s.cfg.Drain > 0 {
			s.startSends(sending, group)
		}
		left := s.unsentPods()
		switch {
		case len(left) == 0:
			return nil
		case !s.executor.Now().Before(deadline), s.waitForWork(sending, deadline) != nil:
			return fmt.Errorf("%w: of pods %v", ErrUnsent, left)
		}
	}
}

// makeAllDue ends all delays of pods: after failures, for newer statuses and for repeats. After an outage of
// the sink, one status is still sent before the others.
func (s *Sender) makeAllDue() {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearFailuresLocked(now, min(s.mu.outages, 1))
	s.mu.box.WakeHeld(now)
}

// unsentPods returns the UIDs of the pods whose status is queued, delayed or being sent.
func (s *Sender) unsentPods() []types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.box.PendingUIDs()
}

// startSends starts a goroutine for each status that may be sent now and for which a worker is free.
func (s *Sender) startSends(sending context.Context, group *executor.Group) {
	for {
		u, ok := s.takeNextUpdateForWorker(s.executor.Now())
		if !ok {
			return
		}
		group.Go(func() {
			s.sendOrPostpone(sending, u)
			s.wake.Signal()
		})
	}
}

// waitForWork waits until Run is woken, a status may be due, or the time until arrives. A zero until is no
// limit. It returns an error if ctx is done.
func (s *Sender) waitForWork(ctx context.Context, until time.Time) error {
	s.mu.Lock()
	next, ok := s.mu.box.NextDue()
	if s.executor.Now().Before(s.mu.outageEnd) {
		next, ok = s.mu.outageEnd, !s.mu.box.Empty()
	}
	if ok && !s.hasNoFreeWorkerLocked() && (until.IsZero() || next.Before(until)) {
		until = next
	}
	s.mu.Unlock()
	if until.IsZero() {
		return s.wake.Wait(ctx)
	}
	_, err := s.wake.WaitUntil(ctx, until)
	return err
}
