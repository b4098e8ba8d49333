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
	// DefaultHousekeepingPeriod is the least time between two cleanups.
	DefaultHousekeepingPeriod = 2 * time.Second
	// DefaultStartTimeout is how long the loop waits for first snapshots.
	DefaultStartTimeout = 3 * time.Second
	// DefaultStuckAfter is how long a single step of the loop may take before
	// the loop counts as unhealthy.
	DefaultStuckAfter = 5 * time.Minute
)

// Config is what a Loop needs. Handler, Updates, Desired and Changes are
// required.
type Config struct {
	// Handler is called for all that happens; Handlers is the standard one.
	Handler SyncHandler
	// Updates is the stream of desired pods: a source.Mux. The loop is its only
	// consumer.
	Updates Updates
	// Desired holds the desired pods: a podmanager.Store, or another Manager. The loop asks it
	// in each step for each pod that has changed.
	Desired podmanager.Manager
	// Changes says which pods the runtime shows to have changed: a pleg.PLEG. New subscribes,
	// and the end of Run ends the subscription.
	Changes pleg.Changes
	// Readiness stores probe results for readiness and startup: a status.Store. nil
	// drops them.
	Readiness ContainerReadiness
	// Deadlines ends pods at the end of their activeDeadlineSeconds; nil lets
	// them live. They belong to one loop.
	Deadlines *Deadlines
	// HousekeepingPeriod is the least time between two cleanups; zero is
	// DefaultHousekeepingPeriod.
	HousekeepingPeriod time.Duration
	// ReadyToStart is asked at the beginning of Run, again after every wake-up,
	// whether the first snapshots of the desired state and of the runtime are there; nil
	// begins at once.
	ReadyToStart func() bool
	// StartTimeout is how long Run waits for that; zero is
	// DefaultStartTimeout.
	StartTimeout time.Duration
	// StuckAfter makes Healthy fail when one step takes longer; zero is
	// DefaultStuckAfter.
	StuckAfter time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Hooks are called after events of the loop. All are optional.
	Hooks Hooks
}

// Hooks are called on the loop, with no lock held. They must not block.
type Hooks struct {
	// Cleanup is called after each housekeeping, with how long it took.
	Cleanup func(took time.Duration, err error)
	// Panicked is called after each contained panic of the handler, the log or another hook, with the
	// name of the call. Healthy reports the panic too.
	Panicked func(call string, err error)
}

// Updates is the stream of changes of the desired pods: a source.Mux. An implementation keeps updates until
// TakeAll returns them.
type Updates interface {
	// TakeAll appends to buf all updates since the last call, in order, returns it and
	// forgets them. It is called at the beginning of each step, by one goroutine, and
	// must not block.
	TakeAll(buf []podmanager.PodUpdate) []podmanager.PodUpdate
	// SetWake is called once, by New, before Run and Step. From then on the
	// implementation calls wake after each update, and whenever a source has become
	// complete although nothing has changed. wake never blocks and may be called by
	// any goroutine.
	SetWake(wake func())
}

// ContainerReadiness stores the results of probes: a status.Store.
// Its methods are called in a step, by one goroutine, before the pod is synced for the
// result. They must not block.
type ContainerReadiness interface {
	// SetContainerReadiness stores the result of a readiness probe. The ID of the
	// container is written as in the pod's status. The pod may not be desired any more;
	// an unknown pod or container is ignored.
	SetContainerReadiness(uid types.UID, containerID string, ready bool)
	// SetContainerStartup stores the result of a startup probe, in the same way.
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
