package node

import (
	"cmp"
	"log/slog"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
)

// Config says what a node is made of. The zero value is a complete node: an
// in-memory runtime, pods handed over with Apply, the kubelet's numbers.
type Config struct {
	// Name is the node's name in lower case. Apply fills it in as the spec.nodeName of
	// pods without one; empty is "localhost". A pod with the spec.nodeName of
	// another node is refused with reason NodeName.
	Name string
	// Runtime runs the containers; nil is a new runtime in memory, with in-memory
	// volumes if none are given.
	Runtime runtime.Runtime
	// NewSyncer makes the PodSyncer of the node. New calls it once, with the parts of the node that
	// the PodSyncer may use, and returns its error. A panic of the PodSyncer fails only the call in
	// which it occurs. Nil: a podsync.Syncer.
	NewSyncer func(parts SyncerParts) (podworkers.PodSyncer, error)
	// Pods are the sources of pods besides Apply, and what a restarted node remembers of pods.
	Pods PodsConfig
	// Statuses say where the statuses of pods are sent.
	Statuses StatusesConfig
	// Volumes prepare the volumes of pods.
	Volumes VolumesConfig
	// Containers say what every container gets, and when it is restarted and removed.
	Containers ContainersConfig
	// Logs say where the logs of containers are written, and when they are rotated.
	Logs LogsConfig
	// Probes say who runs the checks of probes.
	Probes ProbesConfig
	// Scheduling says which pods fit on the node.
	Scheduling SchedulingConfig
	// Images say how images are pulled, and when unused ones are removed.
	Images ImagesConfig
	// Sync says how often, and how many pods at once, the node syncs.
	Sync SyncConfig
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter gives numbers in [0,1) that spread retries; nil is random.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives events, with messages of at most 1024 bytes; nil drops them. An
	// EventRecorder of client-go can be used.
	Recorder runtime.EventRecorder
	// Hooks report what happens on the node; package metrics has some.
	Hooks Hooks
}

// TerminalStatuses keep how pods have ended, and know it when a node is restarted.
type TerminalStatuses interface {
	podsync.TerminalStatuses
	// Consume returns how a pod had ended before, and is asked when a source begins
	// to want the pod. Each ending is for one asking: a pod that comes later under
	// the same UID has not ended. It must not block.
	Consume(pod *v1.Pod) (v1.PodStatus, bool)
	// Pods lists pods whose ending is kept and for which of answers true, at most
	// limit of them. It is called when pods may have gone; what is kept of those is
	// dropped.
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
}

// ContainerStates are podsync.ContainerStates that tell of which pods they are.
type ContainerStates interface {
	podsync.ContainerStates
	// Pods lists pods of whose containers something is kept and for which of answers
	// true, at most limit of them. It is called when pods may have gone; what is kept
	// of those is dropped, by Remove(ctx, uid, gone) if there is such a method, as
	// checkpoint.Containers has: it asks gone while nothing is being saved of the pod.
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
}

// hostSource is the name of the source behind Apply, unless an API server's takes its
// place: their pods are ordinary pods and not static ones.
const hostSource = podmanager.ApiserverSource

func (c *Config) complete() error {
	done := contain.CheckConfig("node: Config")
	c.Pods.FromAPIServer = c.Pods.FromAPIServer || c.hasAPIServerSource()
	contain.DefaultNumber(done, "Scheduling.MaxPods", &c.Scheduling.MaxPods, 0) // The default is the part's, here and below.
	contain.DefaultNumber(done, "Sync.MaxSyncs", &c.Sync.MaxSyncs, 0)
	contain.DefaultNumber(done, "Statuses.MaxSends", &c.Statuses.MaxSends, 0)
	contain.DefaultNumber(done, "Sync.Resync", &c.Sync.Resync, 0)
	contain.DefaultNumber(done, "Sync.Relist", &c.Sync.Relist, 0)
	contain.DefaultNumber(done, "Sync.Housekeeping", &c.Sync.Housekeeping, 0)
	done.FaultIf(c.Logs.MaxFiles == 1, "Logs.MaxFiles is less than two: the log, and the one before it")
	c.checkResources(done)
	c.checkNames(done)
	c.Name = strings.ToLower(cmp.Or(c.Name, "localhost"))
	c.completeLabels()
	c.completeView()
	contain.SetDefault(&c.Scheduling.Evictable, isEvictable)
	if len(c.Containers.HostIPs) == 0 {
		c.Containers.HostIPs = []string{"127.0.0.1"}
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
