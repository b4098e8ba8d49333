package podworkers

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// DefaultDrainTimeout is how long Run waits for running calls after its context has ended.
const DefaultDrainTimeout = 30 * time.Second

// Config configures Workers. Syncer and Cache are required.
type Config struct {
	// Syncer is called to sync, terminate and clean up pods.
	Syncer PodSyncer
	// Stability reports for which pods Syncer has nothing to do until something changes. The
	// workers sync such pods less often. If it is nil, every pod is synced in each resync interval.
	// A podsync.Syncer is a StabilityReporter for its own SyncPod. The workers never derive it from
	// Syncer: a PodSyncer that embeds a podsync.Syncer inherits IsStable, but may have more to do
	// in SyncPod.
	Stability StabilityReporter
	// Cache has the newest observation of each pod: a pleg.PLEG, another runtime.StatusCache, or
	// NoCache if there is no runtime.
	//
	// Get is called for a pod that is created or in a terminal phase, for a pod that must be
	// stopped while NewerThan fails, and for a pod whose last call failed when the runtime shows a
	// change of it. NewerThan is called before every call of the syncer. Mark is called after every
	// call of the syncer, and before a call that follows a failure.
	//
	// If Cache is a runtime.RelistRequester too, the workers request an observation of each pod
	// whose sync failed because the runtime was unavailable.
	Cache runtime.StatusCache
	// Retry has the delays after each sync; zero fields have the kubelet's values.
	Retry backoff.Retry
	// Queue holds the time at which each pod is synced again; nil is a workqueue.Queue. It belongs
	// to these Workers alone, which call it under their lock, one call at a time. If it panics, Run
	// returns ErrQueue.
	Queue workqueue.WorkQueue
	// MaxSyncs limits the concurrent SyncPod calls, and MaxTerminations the concurrent calls of the
	// other three methods; 0 is no limit. Calls beyond a limit wait, first come first served. A
	// call holds no slot while it is in Wait or WithoutSlot.
	MaxSyncs, MaxTerminations int
	// DrainTimeout is how long Run waits at its end for calls that ignore their context. Zero is
	// DefaultDrainTimeout, negative is for ever.
	DrainTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter returns random numbers in [0,1) that spread retries; nil is math/rand. It is called
	// concurrently.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Hooks are optional callbacks.
	Hooks Hooks
}

// Hooks are called by the goroutine that caused the event, without a lock, so concurrently. The
// calls for one pod may arrive out of order. They must not block.
type Hooks struct {
	// Phase is called when an incarnation of a pod has entered a phase.
	Phase func(uid types.UID, incarnation uint64, phase lifecycle.Phase)
	// Forgotten is called when the workers have deleted the record of the pod.
	Forgotten func(uid types.UID)
	// Syncing is called before SyncPod or SyncTerminatingPod. The goroutine then waits for a fresh
	// status, perhaps for a long time. If there is no status, or if Config.Stability reports that
	// there is nothing to do, neither the call nor Synced follows. The hook must not modify the
	// pod.
	Syncing func(pod *v1.Pod, incarnation uint64)
	// Synced is called when a call of the syncer has returned.
	Synced func(s Synced)
	// Panicked is called when a panic of the syncer, the cache, the recorder, the log or another
	// hook was recovered. call is the name of the call that panicked.
	Panicked func(call string, err error)
}

// Synced describes one call of a PodSyncer. Took is its duration. Latency is the time since
// UpdatePodOptions.StartTime, or zero without a StartTime. Err is the error that the call returned.
type Synced struct {
	UID         types.UID
	Incarnation uint64
	Kind        lifecycle.Kind
	Type        SyncPodType
	Took        time.Duration
	Latency     time.Duration
	Err         error
}

// setDefaultsAndValidate sets the default of each unset field that has one, and returns an error that names
// every missing or invalid field.
func (c *Config) setDefaultsAndValidate() error {
	done := contain.CheckConfig("podworkers: Config")
	done.MissingIf(c.Syncer == nil, "Syncer")
	done.MissingIf(c.Cache == nil, "Cache")
	done.FaultIf(c.MaxSyncs < 0 || c.MaxTerminations < 0, "MaxSyncs and MaxTerminations cannot be negative")
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	if c.Queue == nil {
		c.Queue = workqueue.New(workqueue.Config{Clock: c.Clock})
	}
	contain.SetDefault(&c.Jitter, rand.Float64)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
