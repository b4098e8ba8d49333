package feed

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/cluster/feed/internal/follow"
)

// ErrAlreadyRunning is returned by Run while another Run is active.
var ErrAlreadyRunning = errors.New("feed: the follower runs already")

// DefaultCallTimeout bounds a list, and the beginning of a watch.
const DefaultCallTimeout = 30 * time.Second

// DefaultWatchTimeout is the minimum timeout that the client requests for a watch.
const DefaultWatchTimeout = 5 * time.Minute

// Config configures a Follower. Feed is required.
type Config[T metav1.Object] struct {
	// Feed is the collection.
	Feed apiserver.Feed[T]
	// Name is the name of the collection in the log.
	Name string
	// Contact records the result of every call and ends pauses. Nil: the Follower makes one.
	Contact *contact.Contact
	// Changed is called after the collection has changed, and after the first complete state. The goroutine of Run
	// calls it without a lock. It must not block.
	Changed func()
	// CallTimeout bounds a list, and the beginning of a watch. Zero: 30 seconds.
	CallTimeout time.Duration
	// WatchTimeout is the timeout that the client requests for a watch; a random duration up to the same length is
	// added. Zero: 5 minutes.
	WatchTimeout time.Duration
	// Clock is the clock. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: random numbers.
	Jitter func() float64
	// Log receives a message for each failure. Nil discards.
	Log *slog.Logger
	// Failed is called after each failure, by the goroutine of Run. It may be nil.
	Failed func(err error)
}

// Health describes how well a collection is followed.
type Health struct {
	// Synced is the time of the first complete state; zero before.
	Synced time.Time
	// LastEvent is when the server last sent something.
	LastEvent time.Time
	// Failures is the number of failures in a row; zero while a watch is open.
	Failures int
	// Err is the last failure; nil while a watch is open.
	Err error
	// Version is the last resource version seen.
	Version string
}

// Follower keeps the newest known state of a collection. Make one with New. Its methods are safe for concurrent use.
type Follower[T metav1.Object] struct {
	cfg       Config[T]
	guard     *contain.Guard
	executor  executor.Executor
	hasObject executor.Latch

	mu struct {
		sync.Mutex
		runs    bool
		machine *follow.Machine[T]
	}
}

// New returns a Follower that knows no object. The error names a fault of the configuration.
func New[T metav1.Object](cfg Config[T]) (*Follower[T], error) {
	if cfg.Feed == nil {
		return nil, errors.New("feed: Config.Feed is nil")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{Clock: cfg.Clock})
	}
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, DefaultCallTimeout)
	contain.SetDefault(&cfg.Jitter, rand.Float64)
	g := contain.New(contain.Config{Package: "feed", Clock: cfg.Clock, Log: cfg.Log})
	cfg.Log = g.Log()
	cfg.Failed = contain.Hook1(g, "Failed", cfg.Failed)
	f := &Follower[T]{cfg: cfg, guard: g, executor: executor.Over(cfg.Clock)}
	f.hasObject = f.executor.NewLatch()
	f.mu.machine = follow.New[T](cmp.Or(cfg.WatchTimeout, DefaultWatchTimeout))
	return f, nil
}

// Run follows the collection until ctx is done, and then returns nil. The known objects stay, and another Run continues
// from there.
func (f *Follower[T]) Run(ctx context.Context) error {
	if !f.tryStart() {
		return ErrAlreadyRunning
	}
	r := followerRun[T]{Follower: f}
	defer r.finishRun()
	for ctx.Err() == nil {
		if err := r.performStep(ctx, f.nextStep()); errors.Is(err, executor.ErrCrashed) {
			break
		}
	}
	return nil
}

// tryStart marks the Follower as running. It returns false if the Follower runs already.
func (f *Follower[T]) tryStart() (started bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.mu.runs
	f.mu.runs = true
	return !before
}

// nextStep returns the next step of the state machine: list, watch, read an event, or wait.
func (f *Follower[T]) nextStep() follow.Step {
	random := f.cfg.Jitter()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Next(random)
}

// Objects returns the collection in a new slice. It returns false before the first complete state. The caller must not
// change the objects.
func (f *Follower[T]) Objects() ([]T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Objects()
}

// takeChangesUnlessOnlyListKnown returns the changes since its last call. known is false for the first call and
// after a list from the server, because the server then sent only objects, not changes. The caller then calls
// Objects to read all objects.
func (f *Follower[T]) takeChangesUnlessOnlyListKnown() (changes []follow.Change[T], known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Take()
}

// Get returns an object of the collection. It returns false if there is no such object, or no complete state yet. The
// caller must not change the object.
func (f *Follower[T]) Get(namespace, name string) (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Get(namespace, name)
}

// WaitForObject waits until the collection has had an object once. It returns the error of ctx.
func (f *Follower[T]) WaitForObject(ctx context.Context) error { return f.hasObject.Wait(ctx) }

// Health returns how well the collection is followed.
func (f *Follower[T]) Health() Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Health(f.mu.machine.Health())
}
