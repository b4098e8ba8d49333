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
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Config configures a node. The zero value is a complete node: an in-memory runtime, pods from Apply,
// and the kubelet's defaults.
type Config struct {
	// Name is the name of the node, in lower case. Apply sets spec.nodeName to it in pods that have
	// none. The node rejects a pod with another spec.nodeName with reason NodeName. Empty is
	// "localhost".
	Name string
	// Runtime runs the containers. Nil is a new in-memory runtime, with in-memory volumes if no others
	// are set.
	Runtime runtime.Runtime
	// NewSyncer makes the PodSyncer of the node. New calls it once, with the parts of the node that the
	// PodSyncer may use, and returns its error. A panic of the PodSyncer fails only the call in which
	// it occurs. Nil: the node uses a podsync.Syncer.
	NewSyncer func(parts SyncerParts) (podworkers.PodSyncer, error)
	// Pods configures the sources of pods besides Apply, and the state that survives a restart of the
	// node.
	Pods PodsConfig
	// Statuses configures where the node sends the statuses of pods.
	Statuses StatusesConfig
	// Volumes configures the volumes of pods.
	Volumes VolumesConfig
	// Containers configures how containers are created, restarted and removed.
	Containers ContainersConfig
	// Cgroups configures the cgroups of pods.
	Cgroups CgroupsConfig
	// Logs configures where container logs are written and when they are rotated.
	Logs LogsConfig
	// Probes configures who runs the checks of probes.
	Probes ProbesConfig
	// Scheduling configures which pods fit on the node.
	Scheduling SchedulingConfig
	// Eviction configures evictions under pressure and for limits of local storage.
	Eviction EvictionConfig
	// Images configures how images are pulled and when unused images are removed.
	Images ImagesConfig
	// Sync configures how often and how many pods at once the node syncs.
	Sync SyncConfig
	// Clock is the clock of the node. Nil is the real clock.
	Clock clock.Clock
	// Jitter returns numbers in [0,1) that spread retries. Nil is random.
	Jitter func() float64
	// Log receives log messages. Nil discards them.
	Log *slog.Logger
	// Recorder receives events, with messages of at most 1024 bytes. Nil drops them. An EventRecorder
	// of client-go can be used.
	Recorder runtime.EventRecorder
	// Hooks are called when something happens on the node. Package metrics has hooks that count.
	Hooks Hooks
}

// TerminalStatuses store the terminal statuses of pods, so that a restarted node does not run those
// pods again.
type TerminalStatuses interface {
	podsync.TerminalStatuses
	// Consume returns the stored terminal status of a pod. Later calls do not return it, so that a pod
	// which a source delivers again under the same UID starts normally. The node calls it when a source
	// first delivers the pod. It must not block.
	Consume(pod *v1.Pod) (v1.PodStatus, bool)
	// Pods returns the UIDs of stored pods for which match returns true, at most limit of them. The
	// node calls it when pods may have been removed, and then drops the statuses of removed pods.
	Pods(match func(types.UID) bool, limit int) ([]types.UID, error)
}

// ContainerStates are podsync.ContainerStates that can list their pods.
type ContainerStates interface {
	podsync.ContainerStates
	// Pods returns the UIDs of pods for which states are stored and match returns true, at most limit
	// of them. The node calls it when pods may have been removed, and then drops the states of removed
	// pods. It drops them with the method Remove(ctx, uid, gone), if the store has it, as
	// checkpoint.Containers has. Remove calls gone while no save of the pod is running.
	Pods(match func(types.UID) bool, limit int) ([]types.UID, error)
}

// AllocatedResources store the allocated resources of pods, so that a restarted node does not use resources that
// a pod has only requested. The node calls SaveResources and DropResources for one pod one after the other, and
// for several pods concurrently. After an error it repeats the call later.
type AllocatedResources interface {
	// ConsumeResources returns the resources that an earlier process has saved for a pod. Later calls do not
	// return them. The node calls it when a source first delivers the pod and the pod runs. It must not block.
	ConsumeResources(pod *v1.Pod) (allocation.PodResources, bool)
	// SaveResources saves the allocated resources of a pod in place of earlier ones. The node calls it after it
	// has admitted a pod with requests or limits, and when the pod gets other resources.
	SaveResources(pod *v1.Pod, allocated allocation.PodResources) error
	// DropResources deletes the saved resources of a pod. A pod without saved resources is no error.
	DropResources(uid types.UID) error
	// Pods returns the UIDs of pods for which resources are saved and match returns true, at most limit of
	// them. The node calls it when pods may have been removed, and then drops the resources of removed pods.
	// It drops them with the method Remove(ctx, uid, gone), if the store has it, as checkpoint.Resources has.
	// Remove calls gone while no save of the pod is running.
	Pods(match func(types.UID) bool, limit int) ([]types.UID, error)
}

// hostSource is the name of the source behind Apply, unless Config.Pods.Sources has a source of this
// name. Pods of this source are ordinary pods, not static pods.
const hostSource = podmanager.ApiserverSource

// setDefaultsAndCheck sets defaults of the Config, and checks it. Its error lists every fault that it finds.
// Some defaults are set by the parts that are built later.
func (c *Config) setDefaultsAndCheck() error {
	done := contain.CheckConfig("node: Config")
	c.Pods.FromAPIServer = c.Pods.FromAPIServer || c.hasAPIServerSource()
	contain.DefaultNumber(done, "Scheduling.MaxPods", &c.Scheduling.MaxPods, 0) // The part itself sets the default, here and below.
	contain.DefaultNumber(done, "Sync.MaxSyncs", &c.Sync.MaxSyncs, 0)
	contain.DefaultNumber(done, "Statuses.MaxSends", &c.Statuses.MaxSends, 0)
	contain.DefaultNumber(done, "Statuses.SendDelay", &c.Statuses.SendDelay, 0)
	contain.DefaultNumber(done, "Sync.Resync", &c.Sync.Resync, 0)
	contain.DefaultNumber(done, "Sync.Relist", &c.Sync.Relist, 0)
	contain.DefaultNumber(done, "Sync.Housekeeping", &c.Sync.Housekeeping, 0)
	done.FaultIf(c.Logs.MaxFiles == 1, "Logs.MaxFiles is 1; the minimum is 2, the current file and a rotated one")
	c.checkResourceQuantities(done)
	c.checkNamesAndTaints(done)
	c.Name = strings.ToLower(cmp.Or(c.Name, "localhost"))
	c.addKubeletLabels()
	c.setStaticViewIfUnset()
	contain.SetDefault(&c.Scheduling.Evictable, isEvictable)
	if len(c.Containers.HostIPs) == 0 {
		c.Containers.HostIPs = []string{"127.0.0.1"}
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
