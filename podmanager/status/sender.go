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

// Sink is where statuses are sent: an API server, another machine, a file.
type Sink interface {
	// Send brings one status to the destination. It is called concurrently for different pods; for
	// one pod it is called in the order of changes, one call at a time. It ends with ctx. The sink
	// owns the update.
	//
	// A nil error means that nothing is left to do for this status, for example because the
	// destination does not know the pod any more. After any other error the status is sent again
	// later. An error that wraps ErrRefused or ErrNotYet, or that RetryAfter or Unavailable has
	// made, says when, or that it is not.
	//
	// The sink needs no memory: after a start every status is sent once.
	Send(ctx context.Context, u Update) error
}

// ErrUnsent is in the error of a Run that could not send everything.
var ErrUnsent = errors.New("status: not everything was sent")

// The defaults of a SenderConfig.
const (
	// DefaultSendWorkers is how many statuses are sent at once.
	DefaultSendWorkers = 16
	// DefaultSendTimeout bounds one call of the sink.
	DefaultSendTimeout = 30 * time.Second
	// DefaultSendDrain is for how long Run goes on after its context has ended.
	DefaultSendDrain = 10 * time.Second
)

// SenderConfig is what a Sender is made of. Store and Sink are required.
type SenderConfig struct {
	// Store has the statuses; Run subscribes once.
	Store Statuses
	// Sink is where they go.
	Sink Sink
	// Workers is how many statuses are sent at once, each of another pod. Zero: 16.
	Workers int
	// Timeout bounds one call of the sink. Zero: 30 seconds.
	Timeout time.Duration
	// Retry returns the pause before the status of a pod is sent again, after this number of
	// failures in a row, at least one. A newer status waits for the first pause only. Nil: one
	// second, doubled each time, at most a minute.
	Retry func(failures int) time.Duration
	// Drain is how long the Sender goes on sending after the context of Run has ended. Zero: ten
	// seconds. Negative: nothing is sent, and pods whose end is held back count as unsent too.
	Drain time.Duration
	// CouldRun reports whether containers of a pod could still run. As long as it is true, a
	// terminal phase of the pod is not sent. When no container runs any more, the pod has 100 ms to
	// become Finished, so that one status reports the whole end. Nothing waits when the Sender
	// ends. CouldRun is called with no lock held; a panic counts as true. Nil: it is always false,
	// and no end waits.
	CouldRun func(uid types.UID) bool
	// Clock is the time. Nil: the real clock.
	Clock clock.Clock
	// Log gets a line for each failure. Nil discards.
	Log *slog.Logger
	// Hooks are called as things happen.
	Hooks SenderHooks
}

// SenderHooks observe a Sender. Each may be nil, and is called with no lock held,
// possibly by several at once.
type SenderHooks struct {
	// Sent is called when a status has arrived, with the time since the first change that is in it.
	Sent func(u Update, took time.Duration)
	// Failed is called when a status has not arrived, with the pause until it is sent again. A
	// pause of zero: the sink has refused the status, and it is not sent again. ErrNotYet is not
	// reported.
	Failed func(u Update, err error, pause time.Duration)
	// Panicked is called after each panic of the sink, the log, CouldRun, Retry or another
	// hook that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a Sender calls that others have written, but for the sink:
// a panic there is the error of that call.
func (c *SenderConfig) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "status", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	if could := c.CouldRun; could != nil {
		c.CouldRun = func(uid types.UID) bool {
			return contain.CallOrDefault(g, "CouldRun", true, func() bool { return could(uid) })
		}
	}
	retry := c.Retry
	c.Retry = func(failures int) time.Duration {
		return contain.CallOrDefault(g, "Retry", defaultRetry(failures), func() time.Duration { return retry(failures) })
	}
	c.Hooks.Sent = contain.Hook2(g, "Hooks.Sent", c.Hooks.Sent)
	c.Hooks.Failed = contain.Hook3(g, "Hooks.Failed", c.Hooks.Failed)
	return g
}

// defaultRetry doubles from a second to a minute.
func defaultRetry(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), time.Minute)
}

func (c *SenderConfig) complete() error {
	done := contain.CheckConfig("status: SenderConfig")
	done.MissingIf(c.Store == nil, "Store")
	done.MissingIf(c.Sink == nil, "Sink")
	contain.DefaultNumber(done, "Workers", &c.Workers, DefaultSendWorkers)
	contain.DefaultNumber(done, "Timeout", &c.Timeout, DefaultSendTimeout)
	c.Drain = cmp.Or(c.Drain, DefaultSendDrain)
	contain.SetDefault(&c.Retry, defaultRetry)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// Sender sends the newest status of every pod that has changed to a Sink. A pod
// of which nothing is to be sent has no goroutine. Make one with NewSender.
type Sender struct {
	cfg      SenderConfig
	guard    *contain.Guard
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool
	draining atomic.Bool // Run's context has ended

	mu struct {
		sync.Mutex
		box  *outbox.Box[Update]
		busy int
		told map[types.UID]*told
		// An outage of the sink: how many pauses there were in a row, and until when
		// this one lasts.
		outages int
		resumes time.Time
		resend  map[types.UID]bool // true: at once
	}
}

// told is what the sink knows of a pod.
type told struct {
	version, epoch  uint64
	ready           v1.ConditionStatus
	phase           v1.PodPhase
	reason, message string
	held            bool            // the phase is not the one that is stored
	deadline        outbox.Deadline // of its end
	failures        int
	again           bool      // Resend was called since it was sent last
	repeat          time.Time // from when another Resend may be done
}

// NewSender returns a Sender that sends nothing yet. Its error says what is wrong
// with the configuration.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Sender{guard: cfg.contain(), executor: executor.Over(cfg.Clock)}
	s.cfg = cfg
	s.wake = s.executor.NewEvent()
	s.mu.box = outbox.New[Update]()
	s.mu.told, s.mu.resend = make(map[types.UID]*told), make(map[types.UID]bool)
	return s, nil
}

// Run sends until ctx ends, then sends what is left for as long as Drain allows,
// and returns when the last call of the sink has returned; one that ignores the end of
// its context for longer than Timeout is left behind. Its error is nil if everything was
// sent, and else wraps ErrUnsent and names the pods. An end that is held back when ctx ends
// is not sent, and that is no error: CouldRun is asked once more for it. What waits after a
// failure is tried at once when ctx ends, and then with pauses as after the first failure. Run
// begins with every status that is stored. A second call returns runtime.ErrSecondRun.
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
		s.put(updates)
		s.resend()
		s.start(sending, group)
		if s.await(ctx, time.Time{}) != nil {
			break
		}
	}
	err := s.drain(sending, group, sub)
	cancel()
	if !group.WaitUntil(s.executor.Now().Add(s.cfg.Timeout)) {
		return errors.Join(err, fmt.Errorf("%w: the sink ignores that the context of its call has ended", ErrUnsent))
	}
	return err
}

// drain goes on until nothing is left, or for as long as it may.
func (s *Sender) drain(sending context.Context, group *executor.Group, sub Subscription) error {
	deadline := s.executor.Now().Add(s.cfg.Drain)
	s.resend()             // What was asked for before the end waits with the rest, and is woken with it.
	s.draining.Store(true) // Before wakeAll: what is held after that sees it, under the same lock.
	s.wakeAll()
	for {
		s.put(sub.TakeAll(nil))
		s.resend()
		if s.cfg.Drain > 0 {
			s.start(sending, group)
		}
		left := s.left()
		switch {
		case len(left) == 0:
			return nil
		case !s.executor.Now().Before(deadline), s.await(sending, deadline) != nil:
			return fmt.Errorf("%w: of pods %v", ErrUnsent, left)
		}
	}
}

// wakeAll makes every pod due that waits, for news or after a failure. After an outage one goes
// ahead of the others, as before.
func (s *Sender) wakeAll() {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retryLocked(now, min(s.mu.outages, 1))
	s.mu.box.WakeHeld(now)
}

func (s *Sender) left() []types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.box.Left()
}

// start starts whatever may be sent now.
func (s *Sender) start(sending context.Context, group *executor.Group) {
	for {
		u, ok := s.take(s.executor.Now())
		if !ok {
			return
		}
		group.Go(func() {
			s.send(sending, u)
			s.wake.Signal()
		})
	}
}

// await waits until there is something to do, at most until a time unless that
// is zero.
func (s *Sender) await(ctx context.Context, until time.Time) error {
	s.mu.Lock()
	next, ok := s.mu.box.Next()
	if s.executor.Now().Before(s.mu.resumes) {
		next, ok = s.mu.resumes, !s.mu.box.Empty()
	}
	if ok && !s.fullLocked() && (until.IsZero() || next.Before(until)) {
		until = next
	}
	s.mu.Unlock()
	if until.IsZero() {
		return s.wake.Wait(ctx)
	}
	_, err := s.wake.WaitUntil(ctx, until)
	return err
}
