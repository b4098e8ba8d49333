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

// DefaultMaxProbes is the default of Config.MaxProbes.
const DefaultMaxProbes = 128

// DefaultDrainTimeout is how long Run waits, after its context has ended, for checks that do not
// return.
const DefaultDrainTimeout = 30 * time.Second

// Config configures a Prober. Check is required.
type Config struct {
	// Check makes the checks.
	Check Checker
	// Result is called once for every change of a verdict, in order, one call at a time and without a
	// lock. The caller is any goroutine that calls a method of the Prober or runs an attempt. It must
	// not block. Nil: the verdicts are only available from Verdict.
	Result func(Result)
	// MaxProbes is the maximum number of concurrent attempts. The oldest due probe goes first. Probes
	// whose last attempt reached its timeout use at most half of MaxProbes, so that hanging
	// containers do not delay the others.
	MaxProbes int
	// DrainTimeout is how long Run waits at its end for checks that ignore their context. Zero is
	// DefaultDrainTimeout; negative waits forever.
	DrainTimeout time.Duration
	// Clock provides the time; nil is the real clock.
	Clock clock.Clock
	// Jitter returns numbers in [0,1). They spread the first attempts of the probes of containers
	// that are older than this process over one period. Nil is random.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives the events Unhealthy and ProbeWarning; nil drops them.
	Recorder runtime.EventRecorder
	// Hooks observe the Prober; all are optional.
	Hooks Hooks
}

// Hooks observe a Prober. They are called without a lock, concurrently, and must not block.
type Hooks struct {
	// Probed is called after every attempt that was not cancelled.
	Probed func(Attempt)
	// Resumed is called when the Prober detects that the process was suspended for about this time.
	Resumed func(gap time.Duration)
	// Panicked is called after each contained panic of the checker, the recorder, the log,
	// Config.Result or another hook, with the name of the call.
	Panicked func(call string, err error)
}

// wrapForPanics wraps the log, the recorder and the functions of the Config, so that a panic in one does not
// stop the Prober. It does not wrap the Checker, whose panics makeCheckWithinTimeout turns into errors.
func (c *Config) wrapForPanics() *contain.Guard {
	g := contain.New(contain.Config{Package: "prober", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Recorder = contain.NewRecorder(g, c.Recorder)
	c.Jitter = contain.Jitter(g, c.Jitter)
	c.Result = contain.Hook1(g, "Result", c.Result)
	c.Hooks.Probed = contain.Hook1(g, "Hooks.Probed", c.Hooks.Probed)
	c.Hooks.Resumed = contain.Hook1(g, "Hooks.Resumed", c.Hooks.Resumed)
	return g
}

// Attempt describes one finished attempt of a probe. An attempt calls the Checker up to three times,
// until one check has a result.
type Attempt struct {
	UID         types.UID
	Container   string
	ContainerID string
	Kind        verdict.Kind
	Result      CheckResult // of the last check; zero: no check had a result
	Message     string
	Err         error // why no check had a result
	Took        time.Duration
}

// Result is a change of the verdict of a probe. It is not the result of one check: that is a
// CheckResult. Liveness with Success false also follows an ordinary exit of the container, and
// StopLivenessAndStartup causes changes to Success.
type Result struct {
	UID         types.UID
	Container   string
	ContainerID string // as in the pod's status
	Kind        verdict.Kind
	Success     bool
	// Message is the message of the check that changed the verdict, for people. It is empty if the
	// container has stopped running or StopLivenessAndStartup was called.
	Message string
}

// The reasons of events, as in the kubelet.
const (
	reasonUnhealthy = "Unhealthy"
	reasonWarning   = "ProbeWarning"
)

// setDefaultsAndValidate sets the defaults, and returns an error that lists the missing fields and invalid
// numbers.
func (c *Config) setDefaultsAndValidate() error {
	done := contain.CheckConfig("prober: Config")
	done.MissingIf(c.Check == nil, "Check")
	contain.DefaultNumber(done, "MaxProbes", &c.MaxProbes, DefaultMaxProbes)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	contain.SetDefault(&c.Jitter, rand.Float64)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}

// CheckResult is the result of one check.
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

// String returns the name of the result.
func (o CheckResult) String() string {
	if o >= Passed && o <= Failed {
		return [...]string{"Passed", "Warned", "Failed"}[o-Passed]
	}
	return "None"
}

// toVerdict converts the result of a check: Passed and Warned to Success, Failed to Failure, and any other
// value to Unknown.
func (o CheckResult) toVerdict() verdict.Value {
	switch o {
	case Passed, Warned:
		return verdict.Success
	case Failed:
		return verdict.Failure
	}
	return verdict.Unknown
}

// Request is one check to make. A Checker must not change the values that it points to.
type Request struct {
	// UID, Namespace and Name identify the pod.
	UID       types.UID
	Namespace string
	Name      string
	// PodIP is the first address of the pod; empty if it has none yet.
	PodIP string
	// Container is the name, ContainerID the ID as in the status of the pod.
	Container   string
	ContainerID string
	// Ports are the ports of the container. A probe may refer to one of them by name.
	Ports []v1.ContainerPort
	// Kind is the kind of the probe.
	Kind verdict.Kind
	// Handler describes the check. Exactly one field is set, or none in a pod that was not
	// validated.
	Handler *v1.ProbeHandler
	// Timeout is the time limit of this check. Each check of an attempt has the full time. The context
	// of the check ends after it.
	Timeout time.Duration
}

// Checker makes checks. A program with its own way to check containers implements it; package check
// has the usual implementation.
type Checker interface {
	// Check makes one check and returns its result and a short message for people. It is called
	// concurrently. Its context ends at the timeout, or when the result is no longer needed. Check must
	// return soon after that. For one probe it is called again while an earlier call has not returned
	// only if that call was cancelled, for example because the container has restarted.
	//
	// An error means that the check could not be made, so the container has neither passed nor
	// failed. The Prober retries it at once, at most twice. An error after the timeout counts as a
	// failure of the container.
	Check(ctx context.Context, req Request) (CheckResult, string, error)
}
