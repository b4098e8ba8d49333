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

// Errors for errors.Is.
var (
	// ErrStopped is returned to readers that still wait when Run returns, and by Relist after that.
	ErrStopped = errors.New("pleg: stopped")
	// ErrRunning is returned by Relist while another Relist or Run is running, and by Run during a
	// Relist.
	ErrRunning = errors.New("pleg: running already")
	// ErrUnobserved is returned by Get for a pod whose first inspection has not ended, even if a
	// listing or RequestRelist has named the pod. For any other pod without a cached status it is
	// returned until a listing has succeeded.
	ErrUnobserved = errors.New("pleg: not observed yet")
)

// Generator reports changes of pods in the runtime, and caches their statuses. All methods are safe
// for concurrent use.
type Generator interface {
	runtime.StatusCache
	runtime.RelistRequester
	Snapshot
	Changes
}

// Snapshot is the newest observation of all pods of the runtime. The methods must not block.
type Snapshot interface {
	// Pods returns the last successful listing, updated with every pod that was inspected since.
	// The slice is shared and must not be modified.
	Pods() []runtime.Pod
	// Healthy returns false, with an error that describes the fault, if no listing has succeeded
	// for longer than the threshold, or ever. The sync loop starts no static pod before the first
	// listing.
	Healthy() (bool, error)
}

// Changes reports the pods that have changed in the runtime.
type Changes interface {
	// Subscribe returns a subscription. It starts with every pod known so far. wake, if not nil, is
	// called when the subscription has a pod and was empty before. It is called by the goroutine
	// that found the change, without a lock, perhaps before Subscribe returns. It must not block.
	Subscribe(wake func()) Subscription
}

// Config configures a PLEG. A zero field has its default.
type Config struct {
	// Runtime is the observed runtime. Required. The PLEG keeps each listing, so the runtime must
	// not modify it afterwards. If its runtime.Features have an EventSource, Run reads that; it
	// checks the features each time before it opens the stream.
	Runtime runtime.PodLister
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// RelistPeriod is the pause between the end of a listing and the begin of the next; 1 s.
	// Retries and the limits per period use it too.
	RelistPeriod time.Duration
	// SafetyPeriod is the pause between two listings while the event stream replaces frequent
	// listings (see section Bounds); 30 s.
	SafetyPeriod time.Duration
	// RelistThreshold is how old the last successful listing may be before the PLEG is unhealthy; 3
	// min, or three times the longer period, if that is longer.
	RelistThreshold time.Duration
	// ListTimeout limits one listing; 2 min.
	ListTimeout time.Duration
	// InspectTimeout limits the inspection of one pod; 10 s.
	InspectTimeout time.Duration
	// MaxInspections limits the concurrent inspections; 8. Pods whose last inspection timed out use
	// at most half of them, and at least one.
	MaxInspections int
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Hooks are optional callbacks.
	Hooks Hooks
}

// setDefaultsAndValidate sets the defaults of unset fields and returns one error that names every invalid
// field, or nil.
func (c *Config) setDefaultsAndValidate() error {
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
	wake     executor.Event          // wakes Run's loop
	features runtime.FeatureReporter // nil: the runtime reports no features

	// changed is a buffer for the running listing. At most one listing runs at a time.
	changed []int

	mu struct {
		sync.Mutex
		table    table
		state    state
		schedule listSchedule
		subs     []*subscription // replaced, never changed
	}
}

var _ Generator = (*PLEG)(nil)

// state is the state of a PLEG.
type state uint8

const (
	idle     state = iota
	stepping       // in Relist
	running        // in Run
	stopped        // Run has ended
)

// New returns a PLEG. It starts nothing. Until Run or Relist is called, readers wait and nothing is
// cached.
func New(cfg Config) (*PLEG, error) {
	if err := cfg.setDefaultsAndValidate(); err != nil {
		return nil, err
	}
	p := &PLEG{executor: executor.Over(cfg.Clock)}
	p.wake = p.executor.NewEvent()
	p.features = cfg.containPanics()
	p.cfg = cfg
	p.mu.table = table{
		records:    make(map[types.UID]*record),
		limit:      cfg.MaxInspections,
		retryDelay: cfg.RelistPeriod,
	}
	return p, nil
}

// Hooks are called for each observation, except for one that the end of Run or Relist interrupts.
// Each may be nil. It is called without a lock, concurrently with the others and with itself, and
// must not block.
type Hooks struct {
	// Relisted is called after every listing.
	Relisted func(Relisting)
	// Inspected is called after every inspection of a pod.
	Inspected func(Inspection)
	// StreamEnded is called when the runtime's event stream has ended. It is opened again after
	// retryIn.
	StreamEnded func(err error, retryIn time.Duration)
	// Panicked is called when a panic of the runtime, the log or another hook was recovered. call
	// is the name of the call that panicked.
	Panicked func(call string, err error)
}

// containPanics wraps the runtime, the log and the hooks so that a panic in one of them does not crash the
// process. A runtime call that panics returns an error. It returns the wrapped runtime as a FeatureReporter if
// the runtime implements that interface. If not, it returns nil.
func (c *Config) containPanics() runtime.FeatureReporter {
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

// Relisting is one listing of all pods.
type Relisting struct {
	Number     uint64 // of the observation
	Took       time.Duration
	Pods       int // number of listed pods
	Mismatched int // pods whose status differs from the listing: they are inspected
	Err        error
}

// Inspection is one inspection of a pod.
type Inspection struct {
	UID    types.UID
	Number uint64 // of the observation
	Took   time.Duration
	Events Events // announced events; 0: no change, or its events are held back (see section Bounds)
	Err    error
}
