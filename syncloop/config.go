package syncloop

import (
	"cmp"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
)

// Constants of the kubelet's loop.
const (
	// DefaultHousekeepingPeriod is the minimum time between two housekeepings.
	DefaultHousekeepingPeriod = 2 * time.Second
	// DefaultStartTimeout is how long the loop waits for the first snapshots of the sources and of the
	// runtime.
	DefaultStartTimeout = 3 * time.Second
	// DefaultStuckAfter is how long one step may take before the loop is unhealthy.
	DefaultStuckAfter = 5 * time.Minute
)

// Config configures a Loop. Handler, Updates, Desired and Changes are required.
type Config struct {
	// Handler handles all changes. Handlers is the standard implementation.
	Handler SyncHandler
	// Updates is the stream of changes of the desired pods: a source.Mux. The loop is its only consumer.
	Updates Updates
	// Desired holds the desired pods: a podmanager.Store, or another Manager. Each step reads the changed pods
	// from it.
	Desired podmanager.Manager
	// Changes reports the pods that have changed in the runtime: a pleg.PLEG. New subscribes, and Run closes
	// the subscription when it returns.
	Changes pleg.Changes
	// Readiness stores the results of readiness and startup probes: a status.Store. nil drops them.
	Readiness ContainerReadiness
	// Deadlines terminates pods when their activeDeadlineSeconds are over; nil ignores deadlines. Deadlines
	// belong to one loop.
	Deadlines *Deadlines
	// HousekeepingPeriod is the minimum time between two housekeepings; zero is DefaultHousekeepingPeriod.
	HousekeepingPeriod time.Duration
	// ReadyToStart reports whether the first snapshots of the desired state and of the runtime have arrived.
	// Run calls it first, and again after each wake-up until it returns true. nil starts at once.
	ReadyToStart func() bool
	// StartTimeout is how long Run waits for ReadyToStart; zero is DefaultStartTimeout.
	StartTimeout time.Duration
	// StuckAfter is how long one step may take before Healthy fails; zero is DefaultStuckAfter.
	StuckAfter time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Hooks are called after events of the loop. All are optional.
	Hooks Hooks
}

// Hooks are called on the goroutine of the loop, without a lock. They must not block.
type Hooks struct {
	// Cleanup is called after each housekeeping with its duration.
	Cleanup func(took time.Duration, err error)
	// Panicked is called after each contained panic of the handler, the log or another hook, with the name of
	// the call. Healthy reports the panic too.
	Panicked func(call string, err error)
}

// Updates is the stream of changes of the desired pods: a source.Mux. It keeps updates until TakeAll returns
// them.
type Updates interface {
	// TakeAll appends all updates since the last call to buf, in order, and returns buf. It is called at the
	// start of each step, by one goroutine, and must not block.
	TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate
	// SetWake stores the function that wakes the loop. New calls it once. The implementation calls wake after
	// each update, and when a source becomes complete without an update. wake never blocks, and any goroutine
	// may call it.
	SetWake(wake func())
}

// ContainerReadiness stores the results of probes: a status.Store. Its methods are called in a step, by one
// goroutine, before the pod is synced for the result. They must not block.
type ContainerReadiness interface {
	// SetContainerReadiness stores the result of a readiness probe. containerID is written as in the pod's
	// status. The pod may have been removed; an unknown pod or container is ignored.
	SetContainerReadiness(uid types.UID, containerID string, ready bool)
	// SetContainerStartup stores the result of a startup probe in the same way.
	SetContainerStartup(uid types.UID, containerID string, started bool)
}

func (c *Config) complete() error {
	done := contain.CheckConfig("syncloop: Config")
	done.MissingIf(c.Handler == nil, "Handler")
	done.MissingIf(c.Updates == nil, "Updates")
	done.MissingIf(c.Desired == nil, "Desired")
	done.MissingIf(c.Changes == nil, "Changes")
	contain.DefaultNumber(done, "HousekeepingPeriod", &c.HousekeepingPeriod, DefaultHousekeepingPeriod)
	contain.DefaultNumber(done, "StuckAfter", &c.StuckAfter, DefaultStuckAfter)
	contain.DefaultNumber(done, "StartTimeout", &c.StartTimeout, DefaultStartTimeout)
	contain.SetDefault(&c.ReadyToStart, func() bool { return true })
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
