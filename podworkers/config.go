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

// DefaultDrainTimeout is how long Run waits, after its context has ended, for
// syncs to notice.
const DefaultDrainTimeout = 30 * time.Second

// Config is what Workers need. Syncer and Cache are required.
type Config struct {
	// Syncer is called to sync, terminate and clean up pods.
	Syncer PodSyncer
	// Stability reports for which pods Syncer has nothing to do until something changes; the
	// workers sync those less often. Nil: every pod is synced in each resync interval. A
	// podsync.Syncer is a StabilityReporter for its own SyncPod. The workers never take it from
	// Syncer by themselves: a PodSyncer that embeds a podsync.Syncer inherits IsStable, but may
	// have more to do in SyncPod.
	Stability StabilityReporter
	// Cache has the newest observation of each pod: a pleg.PLEG, another
	// runtime.StatusCache, or NoCache if there is nothing to observe. Get is called for a pod
	// that is created or in a terminal phase, for one that is to be stopped while
	// NewerThan fails, and for one whose last call has failed when the runtime shows a
	// change of it; Mark after every call of the syncer and before one that follows a
	// failure; NewerThan before every call of the syncer. If Cache is a
	// runtime.RelistRequester too, the workers ask it to observe each pod whose sync failed
	// because the runtime was unavailable.
	Cache runtime.StatusCache
	// Retry is how long the workers wait after each sync; zero fields have the kubelet's numbers.
	Retry backoff.Retry
	// Queue holds when each pod is retried; nil is a workqueue.Queue. It belongs to these
	// Workers alone, which call it under their lock, one call at a time. A panic of it ends
	// Run with ErrQueue.
	Queue workqueue.WorkQueue
	// MaxSyncs is how many SyncPod calls run at once, and MaxTerminations how many calls of the
	// other three methods; 0 is no limit. Calls beyond a limit wait, first come first served. A
	// call gives its slot back while it is in Wait or WithoutSlot.
	MaxSyncs, MaxTerminations int
	// DrainTimeout is how long Run waits at its end for syncs that ignore
	// their context; zero is DefaultDrainTimeout, negative is for ever.
	DrainTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter gives numbers in [0,1) that spread retries; nil is random. It is
	// called concurrently.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives events; nil drops them.
	Recorder runtime.EventRecorder
	// Hooks are called with what has happened; all are optional.
	Hooks Hooks
}

// Hooks are called without a lock held, by the goroutine that caused the event, so
// concurrently. The calls for one pod may come out of order. They must not block.
type Hooks struct {
	// Phase: an incarnation of a pod has entered a phase.
	Phase func(uid types.UID, incarnation uint64, phase lifecycle.Phase)
	// Forgotten: the workers have dropped the record of the pod.
	Forgotten func(uid types.UID)
	// Syncing: SyncPod or SyncTerminatingPod of an incarnation of the pod may be called next, by
	// this goroutine, which first waits for a fresh status, perhaps for long. If the status cannot
	// be had, or Config.Stability says then that there is nothing to do, no call follows, and
	// no Synced. The pod is only read.
	Syncing func(pod *v1.Pod, incarnation uint64)
	// Synced: a call of the syncer has returned.
	Synced func(s Synced)
	// Panicked: a panic of the syncer, the cache, the recorder, the log or another
	// hook was contained. call names the call.
	Panicked func(call string, err error)
}

// Synced describes one call of a PodSyncer. Took is how long the call took, Latency the
// time since UpdatePodOptions.StartTime, zero without one, and Err what the call returned.
type Synced struct {
	UID         types.UID
	Incarnation uint64
	Kind        lifecycle.Kind
	Type        SyncPodType
	Took        time.Duration
	Latency     time.Duration
	Err         error
}

func (c *Config) complete() error {
	done := contain.CheckConfig("podworkers: Config")
	done.MissingIf(c.Syncer == nil, "Syncer")
	done.MissingIf(c.Cache == nil, "Cache")
	done.FaultIf(c.MaxSyncs < 0 || c.MaxTerminations < 0, "MaxSyncs and MaxTerminations can not be negative")
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	if c.Queue == nil {
		c.Queue = workqueue.New(workqueue.Config{Clock: c.Clock})
	}
	contain.SetDefault(&c.Jitter, rand.Float64)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
