package prober

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
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
	g := contain.New(contain.Config{Package: "prober", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
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
	Result      CheckResult // zero: there is no answer
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
	done := contain.CheckConfig("prober: Config")
	done.MissingIf(c.Check == nil, "Check")
	contain.DefaultNumber(done, "MaxProbes", &c.MaxProbes, DefaultMaxProbes)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	contain.SetDefault(&c.Jitter, rand.Float64)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// CheckResult is what one check has found.
type CheckResult uint8

// The results of a check. The zero value is none: a check that returns it without an
// error has not checked anything.
const (
	// Passed counts as a success.
	Passed CheckResult = iota + 1
	// Warned counts as a success with a warning event.
	Warned
	// Failed counts as a failure.
	Failed
)

// String is the name of the result.
func (o CheckResult) String() string {
	if o >= Passed && o <= Failed {
		return [...]string{"Passed", "Warned", "Failed"}[o-Passed]
	}
	return "None"
}

// value is what a result says of the container.
func (o CheckResult) value() verdict.Value {
	switch o {
	case Passed, Warned:
		return verdict.Success
	case Failed:
		return verdict.Failure
	}
	return verdict.Unknown
}

// Request is one check to be made. What it points to is only to be read.
type Request struct {
	// UID, Namespace and Name are the pod's.
	UID       types.UID
	Namespace string
	Name      string
	// PodIP is the pod's first address; empty if it has none yet.
	PodIP string
	// Container is the name, ContainerID the ID as in the pod's status.
	Container   string
	ContainerID string
	// Ports are the container's: a probe may name one of them.
	Ports []v1.ContainerPort
	// Kind is why it is checked.
	Kind verdict.Kind
	// Handler says how to check. One field of it is set, or none if the pod
	// makes no sense.
	Handler *v1.ProbeHandler
	// Timeout is how long the check may take; its context ends after that.
	Timeout time.Duration
}

// Checker makes checks. It is what a program implements that has its own ways
// to look into a container; package check has the usual ones.
type Checker interface {
	// Check makes one check and says what it has found, and why in a few words for
	// people. It is called concurrently, never twice at once for the same probe of the
	// same container, with a context that ends at the timeout or when its result is no
	// longer needed; it returns soon after that.
	//
	// An error means that the check could not be made, so that nothing has been found
	// out about the container. It is made again at once, twice at most. An error after
	// the timeout is a failure of the container.
	Check(ctx context.Context, req Request) (CheckResult, string, error)
}
