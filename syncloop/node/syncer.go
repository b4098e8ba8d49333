package node

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
)

// SyncerParts are the parts of a node that a PodSyncer made by Config.NewSyncer may use. The node runs
// them. The PodSyncer may call their methods concurrently, from its first SyncPod on.
type SyncerParts struct {
	// Runtime is Config.Runtime or the in-memory runtime. A panic in it is returned as the error of the
	// call.
	Runtime runtime.Runtime
	// Status stores the statuses of pods. The PodSyncer calls SetPodStatus in SyncPod and at the end of
	// SyncTerminatingPod, and TerminatePod in SyncTerminatedPod. Without the call in SyncTerminatingPod
	// watchers would see the last status from before the termination. The node sends stored statuses to
	// watchers and to Config.Statuses.Sink.
	Status *status.Store
	// Prober runs the probes of pods. The node passes results on to Status and to the next SyncPod of
	// the pod.
	Prober *prober.Prober
	// PLEG has the newest observation of the runtime. A PodSyncer that has changed something in the
	// runtime calls RequestRelist at the end of the call, so that the PLEG inspects the pod soon.
	PLEG *pleg.PLEG
	// Reference is the configuration of the PodSyncer that a node without NewSyncer uses. podsync.New
	// makes that PodSyncer. NewSyncer can wrap it or call it for some pods. Reference has the clock,
	// the log and the recorder of the node.
	Reference podsync.Config
	// SetStability sets podworkers.Config.Stability, which reports for which pods the new PodSyncer has
	// nothing to do until something changes. NewSyncer may call it once, before it returns. Without the
	// call every pod is synced once in Config.Sync.Resync. A wrapper that does nothing of its own in
	// SyncPod can pass the podsync.Syncer that it wraps.
	SetStability func(podworkers.StabilityReporter)
}

// Forgetter is a PodSyncer that stores something about pods between its calls.
type Forgetter interface {
	// Forget drops the state of every pod for which keep returns false. The node calls it after each
	// housekeeping, from one goroutine, concurrently with all other methods. keep does not block.
	Forget(keep func(uid types.UID) bool)
}

// FeatureReporter is a PodSyncer that supports only some fields of a pod. The node rejects pods that need other fields,
// with reason UnsupportedField, or SupplementalGroupsPolicyNotSupported. For a PodSyncer without this method the node
// checks no fields; Config.Scheduling.Admit can check them.
type FeatureReporter interface {
	// Features returns the features that the PodSyncer supports now. The node calls it at each
	// admission of a pod, concurrently. It must not block.
	Features() podsync.Features
}

// VolumeRefresher is a PodSyncer that updates the files in volumes independently of syncs, even while a
// call for the pod hangs. A PodSyncer without these methods updates them in SyncPod.
type VolumeRefresher interface {
	// VolumesChanged requests an update of the files in the volumes of a pod. The node calls it when a
	// source has added or changed the pod, because downward API files show the pod, and at each
	// RequestSync. It must not block. It is called concurrently.
	VolumesChanged(uid types.UID)
	// RefreshVolumes updates files until ctx ends. The node calls it once, and it runs as long as the
	// node does.
	RefreshVolumes(ctx context.Context) error
}

// PodObserver is a PodSyncer that waits for containers to exit during its calls.
type PodObserver interface {
	// ObservePod is called after each successful inspection of a pod, with the observed status,
	// concurrently with all other methods. It must not block and must not modify the status.
	ObservePod(status *runtime.PodStatus)
}

var (
	_ PodObserver     = (*podsync.Syncer)(nil)
	_ Forgetter       = (*podsync.Syncer)(nil)
	_ FeatureReporter = (*podsync.Syncer)(nil)
	_ VolumeRefresher = (*podsync.Syncer)(nil)
)

// notifyingManager is the manager of a node. It calls changed for each added or updated pod.
type notifyingManager struct {
	*podmanager.Store
	changed func(types.UID)
}

// AddPod implements podmanager.Manager. It adds the pod and requests an update of its volumes, because the pod
// may run already with files that an earlier agent wrote.
func (m notifyingManager) AddPod(pod *v1.Pod) {
	m.Store.AddPod(pod)
	m.changed(pod.UID)
}

// UpdatePod implements podmanager.Manager. It updates the pod and requests an update of its volumes.
func (m notifyingManager) UpdatePod(pod *v1.Pod) {
	m.Store.UpdatePod(pod)
	m.changed(pod.UID)
}

// requestVolumeRefresh requests an update of the files in the volumes of a pod. It does nothing if the
// PodSyncer is no VolumeRefresher.
func (n *Node) requestVolumeRefresh(uid types.UID) {
	if r, ok := n.syncer.(VolumeRefresher); ok {
		_ = n.guard.Call("NewSyncer.VolumesChanged", func() { r.VolumesChanged(uid) })
	}
}

// buildSyncer builds the PodSyncer with Config.NewSyncer. If the Config has none, it builds the podsync.Syncer.
func (b *builder) buildSyncer() (err error) {
	n := b.node
	parts := SyncerParts{Runtime: n.config.Runtime, Status: n.status, Prober: n.prober, PLEG: n.pleg, Reference: b.referenceSyncerConfig()}
	if n.config.NewSyncer == nil {
		reference, err := podsync.New(parts.Reference)
		n.syncer, n.stability = reference, reference
		return err
	}
	parts.SetStability = func(r podworkers.StabilityReporter) { n.stability = r }
	n.syncer, err = n.config.NewSyncer(parts)
	switch {
	case err != nil:
		return fmt.Errorf("node: Config.NewSyncer: %w", err)
	case n.syncer == nil:
		return errors.New("node: Config.NewSyncer returned no PodSyncer")
	}
	return nil
}

// referenceSyncerConfig returns the configuration of the podsync.Syncer, which a node without Config.NewSyncer
// uses.
func (b *builder) referenceSyncerConfig() podsync.Config {
	n := b.node
	config := podsync.Config{
		Images: n.images, Keyring: n.config.Images.Keyring,
		Runtime: n.config.Runtime,
		Status:  n.status,
		Changed: n.pleg.RequestRelist,
		Desired: n.manager.GetPodByUID,
		Probes:  n.prober,
		Volumes: n.config.Volumes.Manager, Files: n.config.Volumes.Files, Objects: n.config.Volumes.Objects, Services: n.config.Containers.Services, HTTP: n.config.Containers.HTTP,
		DNS:             n.config.Containers.DNS,
		ContainerStates: b.syncerContainerStates(),
		Cgroups:         b.syncerCgroups(),
		Allocatable:     n.config.Allocatable(), MemoryBytes: n.config.machineMemoryBytes(),
		Handlers: n.config.Containers.Handlers, RuntimeClass: n.config.Containers.RuntimeClass, Augment: n.config.Containers.Augment, RuntimeName: n.config.Containers.RuntimeName, LogRoot: n.config.Logs.Root, SeccompRoot: n.config.Containers.SeccompRoot,
		HostIPs:   n.config.Containers.HostIPs,
		NodeIPs:   func() []string { return n.config.Scheduling.View.Node().HostIPs },
		CrashLoop: n.config.Containers.CrashLoop, ImagePull: n.config.Images.Backoff,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Recorder: n.config.Recorder,
		Hooks:    n.config.Hooks.syncerHooks(n),
	}
	if n.logs != nil {
		config.Logs = n.logs
	}
	if n.statuses != nil {
		config.TerminalStatuses = undrainedStatuses{n.statuses, &n.drainer.drained}
	}
	return config
}

// forgetPodsInSyncer makes the PodSyncer delete its state of pods that have no worker and nothing in the
// runtime. It does nothing if the PodSyncer is no Forgetter.
func (n *Node) forgetPodsInSyncer() {
	if f, ok := n.syncer.(Forgetter); ok {
		_ = n.guard.Call("NewSyncer.Forget", func() { f.Forget(n.cleaner.hasWorkerOrRuntimeRecords) }) // The guard logs a panic.
	}
}

// syncerFeatures returns a function that returns the present features of the PodSyncer, plus active deadlines,
// and gRPC probes if the node can check them. It returns nil if the PodSyncer is no FeatureReporter.
func (b *builder) syncerFeatures() func() podsync.Features {
	n := b.node
	reporter, ok := n.syncer.(FeatureReporter)
	if !ok {
		return nil
	}
	return func() podsync.Features {
		features := reporter.Features()
		answers := n.runtime.Features().HandlerRunner != nil
		features.GRPCProbes = answers || n.config.Probes.Check != nil || n.config.Probes.GRPC != nil
		features.Deadlines = true
		return features
	}
}
