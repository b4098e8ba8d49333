package pleg

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// The errors that callers compare.
var (
	// ErrStopped is the answer to a reader who still waits when Run has
	// ended, and to a Relist after it.
	ErrStopped = errors.New("pleg: stopped")
	// ErrRunning is the answer to a Relist beside another one or Run, and to a
	// Run beside a Relist.
	ErrRunning = errors.New("pleg: running already")
	// ErrUnobserved is what Get says of a pod that no observation has been
	// made of: neither has it been inspected, nor does a listing speak for it.
	ErrUnobserved = errors.New("pleg: not observed yet")
)

// Generator tells what has happened to pods in the runtime, and keeps what is
// known of them. All methods are safe for concurrent use.
type Generator interface {
	runtime.StatusCache
	runtime.RelistRequester
	Snapshot
	Changes
}

// Snapshot is the newest observation of all pods of the runtime. The methods must not block.
type Snapshot interface {
	// Pods is the last successful listing, with every pod that was inspected
	// since as that has shown it. It is shared and only read.
	Pods() []runtime.Pod
	// Healthy is false, with an error that says what is wrong and since when,
	// if no listing has succeeded for longer than the threshold, or ever. The loop starts no
	// static pod before the first listing.
	Healthy() (bool, error)
}

// Changes says which pods the runtime shows to have changed.
type Changes interface {
	// Subscribe opens a view of what changes. It begins with every pod known
	// so far. wake, if not nil, is called when the view turns from empty to
	// non-empty, by the goroutine that found the change, with no lock held, and perhaps
	// before Subscribe returns; it must not block.
	Subscribe(wake func()) Subscription
}

// Config is what New needs. The zero value of a field is its default.
type Config struct {
	// Runtime is observed. It must be given. A listing
	// belongs to the PLEG once returned: the runtime does not change it any
	// more, and returns another slice or the same one as it was. If its
	// runtime.Features have an EventSource, Run listens to it; Run asks each time before it
	// opens the stream.
	Runtime runtime.PodLister
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// RelistPeriod is the pause between two listings; 1 s.
	RelistPeriod time.Duration
	// SafetyPeriod is the same while a stream of events is healthy; 30 s.
	SafetyPeriod time.Duration
	// RelistThreshold is the age of the last success above which the PLEG is
	// not healthy; 3 min, or three times the longer of the periods, if that is
	// longer.
	RelistThreshold time.Duration
	// ListTimeout is how long one listing may take; 2 min.
	ListTimeout time.Duration
	// InspectTimeout is how long the inspection of one pod may take; 10 s.
	InspectTimeout time.Duration
	// MaxInspections is how many pods are inspected at a time; 8. Pods whose
	// last inspection ran into its deadline use at most half of them.
	MaxInspections int
	// Log is for what people should know; nil discards.
	Log *slog.Logger
	// Hooks observe the work.
	Hooks Hooks
}

// complete fills in the defaults and names everything that is wrong.
func (c *Config) complete() error {
	done := contain.CheckConfig("pleg: Config")
	done.MissingIf(c.Runtime == nil, "Runtime")
	contain.DefaultNumber(done, "RelistPeriod", &c.RelistPeriod, time.Second)
	contain.DefaultNumber(done, "SafetyPeriod", &c.SafetyPeriod, 30*time.Second)
	contain.DefaultNumber(done, "RelistThreshold", &c.RelistThreshold, max(3*time.Minute, 3*c.RelistPeriod, 3*c.SafetyPeriod))
	contain.DefaultNumber(done, "ListTimeout", &c.ListTimeout, 2*time.Minute)
	contain.DefaultNumber(done, "InspectTimeout", &c.InspectTimeout, 10*time.Second)
	contain.DefaultNumber(done, "MaxInspections", &c.MaxInspections, 8)
	done.FaultIf(done.Err() == nil && c.RelistThreshold <= max(c.RelistPeriod, c.SafetyPeriod),
		fmt.Sprintf("RelistThreshold %v is not above the periods %v and %v", c.RelistThreshold, c.RelistPeriod, c.SafetyPeriod))
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// PLEG is the Generator of this package.
type PLEG struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event          // of Run's loop
	features runtime.FeatureReporter // nil: the runtime has none

	// changed is the lister's scratch. There is one lister at a time.
	changed []int

	mu struct {
		sync.Mutex
		table  table
		state  state
		rhythm rhythm
		subs   []*subscription // replaced, never changed
	}
}

var _ Generator = (*PLEG)(nil)

// state is the life of a PLEG.
type state uint8

const (
	idle     state = iota
	stepping       // in Relist
	running        // in Run
	stopped        // Run has ended
)

// New makes a PLEG. It starts nothing; until Run or Relist is called readers
// wait and nothing is known.
func New(cfg Config) (*PLEG, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &PLEG{executor: executor.Over(cfg.Clock)}
	p.wake = p.executor.NewEvent()
	p.features = cfg.contain()
	p.cfg = cfg
	p.mu.table = table{
		records:  make(map[types.UID]*record),
		limit:    cfg.MaxInspections,
		retryGap: cfg.RelistPeriod,
	}
	return p, nil
}

// Hooks observe the work of a PLEG. Each may be nil, is called with no lock
// held, concurrently with the others and with itself, and must not block.
type Hooks struct {
	// Relisted is called after every global listing.
	Relisted func(Relisting)
	// Inspected is called after every inspection of a pod.
	Inspected func(Inspection)
	// StreamEnded is called when the runtime's stream of events has ended. It
	// is opened again after retryIn.
	StreamEnded func(err error, retryIn time.Duration)
	// Panicked is called after each panic of the runtime, the log or another hook
	// that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a PLEG calls that others have written: a panic there is the
// error of that call. It returns what reports the features of the runtime, nil if nothing does.
func (c *Config) contain() runtime.FeatureReporter {
	g := contain.New(contain.Config{Package: "pleg", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	_, reports := c.Runtime.(runtime.FeatureReporter)
	contained := contain.NewRuntime(g, c.Runtime)
	c.Runtime = contained
	c.Hooks.Relisted = contain.Hook1(g, "Hooks.Relisted", c.Hooks.Relisted)
	c.Hooks.Inspected = contain.Hook1(g, "Hooks.Inspected", c.Hooks.Inspected)
	c.Hooks.StreamEnded = contain.Hook2(g, "Hooks.StreamEnded", c.Hooks.StreamEnded)
	if !reports {
		return nil
	}
	return contained
}

// Relisting is one global listing.
type Relisting struct {
	Number     uint64 // of the observation
	Took       time.Duration
	Pods       int // listed
	Mismatched int // whose status the listing does not agree with: they are inspected
	Err        error
}

// Inspection is one inspection of a pod.
type Inspection struct {
	UID    types.UID
	Number uint64 // of the observation
	Took   time.Duration
	Events Events // what it has shown; none: nothing new
	Err    error
}
