package syncloop

import (
	"errors"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager/source"
)

// Constants of the kubelet's loop.
const (
	// DefaultHousekeepingPeriod is the least time between two cleanups.
	DefaultHousekeepingPeriod = 2 * time.Second
	// DefaultSettleTimeout is how long the loop waits for first pictures.
	DefaultSettleTimeout = 3 * time.Second
	// DefaultStuckAfter is how long a single step of the loop may take before
	// the loop counts as unhealthy.
	DefaultStuckAfter = 5 * time.Minute
)

// Config is what a Loop needs. Handler, Updates, Desired and Changes are
// required.
type Config struct {
	// Handler is called for all that happens; Handlers is the standard one.
	Handler SyncHandler
	// Updates is the stream of desire: a source.Mux. The loop is its only
	// consumer.
	Updates updates
	// Desired finds the pod of a UID: a podmanager.Manager.
	Desired desired
	// Changes tells which pods the runtime shows to have changed: a pleg.PLEG.
	Changes changes
	// Readiness stores probe results for readiness and startup; nil drops
	// them. A status.Store.
	Readiness readiness
	// Deadlines ends pods at the end of their activeDeadlineSeconds; nil lets
	// them live. They belong to one loop.
	Deadlines *Deadlines
	// HousekeepingPeriod is the least time between two cleanups; zero is
	// DefaultHousekeepingPeriod.
	HousekeepingPeriod time.Duration
	// Settled is asked at the beginning of Run, again after every wake-up,
	// whether the first pictures of desire and of the runtime are there; nil
	// begins at once.
	Settled func() bool
	// SettleTimeout is how long Run waits for that; zero is
	// DefaultSettleTimeout.
	SettleTimeout time.Duration
	// StuckAfter makes Healthy fail when one step takes longer; zero is
	// DefaultStuckAfter.
	StuckAfter time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives sentences for people; nil discards them.
	Log *slog.Logger
	// Hooks are told facts; all are optional.
	Hooks Hooks
}

// Hooks are called on the loop, with no lock held. They must not block.
type Hooks struct {
	// Cleanup is called after each housekeeping, with how long it took.
	Cleanup func(took time.Duration, err error)
	// Panicked is called after each panic of the handler, the log or another hook that
	// was contained, with the name of the call. Healthy tells of it too.
	Panicked func(call string, err error)
}

type updates interface {
	Take() []source.PodUpdate
	SetWake(wake func())
}

type desired interface {
	GetPodByUID(uid types.UID) (*v1.Pod, bool)
}

type changes interface {
	Subscribe(wake func()) *pleg.Subscription
}

type readiness interface {
	SetContainerReadiness(uid types.UID, containerID string, ready bool)
	SetContainerStartup(uid types.UID, containerID string, started bool)
}

func (c *Config) complete() error {
	var errs []error
	missing := func(absent bool, field string) {
		if absent {
			errs = append(errs, errors.New("syncloop: Config."+field+" is missing"))
		}
	}
	missing(c.Handler == nil, "Handler")
	missing(c.Updates == nil, "Updates")
	missing(c.Desired == nil, "Desired")
	missing(c.Changes == nil, "Changes")
	if c.HousekeepingPeriod < 0 {
		errs = append(errs, errors.New("syncloop: Config.HousekeepingPeriod is negative"))
	}
	if c.StuckAfter < 0 {
		errs = append(errs, errors.New("syncloop: Config.StuckAfter is negative"))
	}
	if c.HousekeepingPeriod == 0 {
		c.HousekeepingPeriod = DefaultHousekeepingPeriod
	}
	if c.SettleTimeout < 0 {
		errs = append(errs, errors.New("syncloop: Config.SettleTimeout is negative"))
	}
	if c.SettleTimeout == 0 {
		c.SettleTimeout = DefaultSettleTimeout
	}
	if c.Settled == nil {
		c.Settled = func() bool { return true }
	}
	if c.StuckAfter == 0 {
		c.StuckAfter = DefaultStuckAfter
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Hooks.Cleanup == nil {
		c.Hooks.Cleanup = func(time.Duration, error) {}
	}
	return errors.Join(errs...)
}
