package prober

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
	"github.com/podkeel/podkeel/runtime"
)

// DefaultMaxProbes is how many checks are made at once if nothing is said.
const DefaultMaxProbes = 128

// DefaultDrainTimeout is how long Run waits, after its context has ended, for checks
// that do not return.
const DefaultDrainTimeout = 30 * time.Second

// Config is what New needs. Check is required; the zero value of every other
// field is its default.
type Config struct {
	// Check makes the checks.
	Check Checker
	// Result is called with every verdict that differs from the one before, in order
	// and each once. It is called by the goroutine that brought the verdict about, one
	// call at a time and with no lock held, and must not block. Nil: they are
	// only asked for, with Verdict.
	Result func(Result)
	// MaxProbes is how many checks are made at once. Of what is due the oldest
	// goes first. Probes whose last check ran into its timeout use at most half
	// of the places, so that hanging pods do not hold up the others.
	MaxProbes int
	// DrainTimeout is how long Run waits at its end for checks that ignore their
	// context; zero is DefaultDrainTimeout, negative is for ever.
	DrainTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter gives numbers in [0,1): where in their first period the probes of
	// containers begin that are older than this process. Nil is random.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives the events Unhealthy and ProbeWarning; nil drops them.
	Recorder runtime.EventRecorder
	// Hooks are called with what has happened; all are optional.
	Hooks Hooks
}

// Hooks observe the work. They are called with no lock held, concurrently, and
// must not block.
type Hooks struct {
	// Probed is called after every attempt whose result was still needed.
	Probed func(Attempt)
	// Resumed is called when the process is found to have been stopped for
	// about this long.
	Resumed func(gap time.Duration)
	// Panicked is called after each panic of the checker, the recorder, the log,
	// Config.Result or another hook that was contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps whatever a Prober calls that others have written, but for the
// checker: a panic there is the error of that call.
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "prober", Clock: c.Clock, Log: c.Log, Told: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Recorder = contain.NewRecorder(g, c.Recorder)
	c.Jitter = contain.Jitter(g, c.Jitter)
	c.Result = contain.Hook1(g, "Result", c.Result)
	c.Hooks.Probed = contain.Hook1(g, "Hooks.Probed", c.Hooks.Probed)
	c.Hooks.Resumed = contain.Hook1(g, "Hooks.Resumed", c.Hooks.Resumed)
	return g
}

// Attempt is one tick of one probe: up to three checks.
type Attempt struct {
	UID         types.UID
	Container   string
	ContainerID string
	Kind        verdict.Kind
	Outcome     Outcome // zero: there is no answer
	Message     string
	Err         error // why there is no answer
	Took        time.Duration
}

// Result is a verdict that differs from the one before.
type Result struct {
	UID         types.UID
	Container   string
	ContainerID string // as in the pod's status
	Kind        verdict.Kind
	Success     bool
	// Message is what the last check said, for people; empty if the verdict
	// does not come from a check.
	Message string
}

// The events' reasons, as the kubelet has them.
const (
	reasonUnhealthy = "Unhealthy"
	reasonWarning   = "ProbeWarning"
)

func (c *Config) complete() error {
	var errs []error
	if c.Check == nil {
		errs = append(errs, errors.New("prober: Config.Check is missing"))
	}
	if c.MaxProbes < 0 {
		errs = append(errs, fmt.Errorf("prober: Config.MaxProbes is negative: %d", c.MaxProbes))
	} else if c.MaxProbes == 0 {
		c.MaxProbes = DefaultMaxProbes
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = DefaultDrainTimeout
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}
