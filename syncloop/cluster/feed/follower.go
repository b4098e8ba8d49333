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

// ErrAlreadyRunning is returned by a Run beside another one.
var ErrAlreadyRunning = errors.New("feed: the follower runs already")

// DefaultCallTimeout bounds a list, and the beginning of a watch.
const DefaultCallTimeout = 30 * time.Second

// DefaultWatchTimeout is after how long the server is asked to end a watch at the earliest.
const DefaultWatchTimeout = 5 * time.Minute

// Config is what a Follower is made of. Feed is required.
type Config[T metav1.Object] struct {
	// Feed is the collection.
	Feed apiserver.Feed[T]
	// Name is the collection's in the log.
	Name string
	// Contact learns from every call, and ends pauses. Nil: one of the Follower's own.
	Contact *contact.Contact
	// Changed is called after the collection has changed, and when the first complete state
	// has come, by the goroutine of Run and with no lock held. It must not block.
	Changed func()
	// CallTimeout bounds a list, and the beginning of a watch. Zero: 30 seconds.
	CallTimeout time.Duration
	// WatchTimeout is after how long the server is asked to end a watch, or up to twice that.
	// Zero: 5 minutes.
	WatchTimeout time.Duration
	// Clock is what time it is. Nil: the real clock.
	Clock clock.Clock
	// Jitter returns a number in [0, 1). Nil: a random one.
	Jitter func() float64
	// Log gets a line for each failure. Nil discards.
	Log *slog.Logger
	// Failed is called after each failure, by the goroutine of Run. It may be nil.
	Failed func(err error)
}

// Health is how a collection is followed.
type Health struct {
	// Synced is when the first complete state came; zero before.
	Synced time.Time
	// LastEvent is when the server sent something last.
	LastEvent time.Time
	// Failures are those in a row; zero while a watch stands.
	Failures int
	// Err is the last failure; nil while a watch stands.
	Err error
	// Version is the last resource version seen.
	Version string
}

// Follower keeps a collection as the server last showed it. Make one with New. Its methods
// are safe for concurrent use.
type Follower[T metav1.Object] struct {
	cfg      Config[T]
	guard    *contain.Guard
	executor executor.Executor
	seen     executor.Latch

	mu struct {
		sync.Mutex
		runs    bool
		machine *follow.Machine[T]
	}
}

// New returns a Follower that knows nothing yet. Its error says what is wrong with the
// configuration.
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
	f.seen = f.executor.NewLatch()
	f.mu.machine = follow.New[T](cmp.Or(cfg.WatchTimeout, DefaultWatchTimeout))
	return f, nil
}

// Run follows the collection until ctx ends, and then returns nil. What is known stays, and
// another Run goes on from there.
func (f *Follower[T]) Run(ctx context.Context) error {
	if !f.enter() {
		return ErrAlreadyRunning
	}
	r := run[T]{Follower: f}
	defer r.end()
	for ctx.Err() == nil {
		if err := r.step(ctx, f.next()); errors.Is(err, executor.ErrCrashed) {
			break
		}
	}
	return nil
}

// enter reports whether there is no Run, of which there is one then.
func (f *Follower[T]) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.mu.runs
	f.mu.runs = true
	return !before
}

func (f *Follower[T]) next() follow.Step {
	random := f.cfg.Jitter()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Next(random)
}

// Objects returns the collection, in a slice of the caller's; false before the first complete
// state. The objects are read only.
func (f *Follower[T]) Objects() ([]T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Objects()
}

// changes returns the changes since it was called last; false if they are not known one by one.
// Its caller takes Objects then, also at first.
func (f *Follower[T]) changes() ([]follow.Change[T], bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Take()
}

// Get returns an object of the collection, which is read only; false if it has none of that
// name, or has had no complete state yet.
func (f *Follower[T]) Get(namespace, name string) (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.machine.Get(namespace, name)
}

// WaitForObject waits until the collection has had an object once, or until ctx ends, with its error.
func (f *Follower[T]) WaitForObject(ctx context.Context) error { return f.seen.Wait(ctx) }

// Health returns how the collection is followed.
func (f *Follower[T]) Health() Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Health(f.mu.machine.Health())
}
