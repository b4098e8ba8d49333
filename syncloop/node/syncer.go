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

// SyncerParts is what a node offers to the PodSyncer that Config.NewSyncer makes. The
// parts belong to the node, which runs them; their methods may be called from the
// beginning of the first SyncPod on, concurrently.
type SyncerParts struct {
	// Runtime is Config.Runtime, or the one in memory. A panic in it is the error of
	// that call.
	Runtime runtime.Runtime
	// Status stores statuses. The PodSyncer reports here what becomes of a pod:
	// SetPodStatus in SyncPod, and at the end of SyncTerminatingPod with how the pod has
	// ended, or it would be shown as it was before; TerminatePod in SyncTerminatedPod.
	// Watchers and Config.Statuses.Sink are told of what is stored.
	Status *status.Store
	// Prober runs the probes of pods. The node passes results on to Status, and to the
	// next SyncPod of the pod.
	Prober *prober.Prober
	// RuntimePods is the newest observation of the runtime. RequestRelist has it observe a
	// pod soon; a PodSyncer that has changed something calls it at the end of the call.
	PLEG *pleg.PLEG
	// Reference is the configuration of the PodSyncer that the node has without
	// NewSyncer: podsync.New makes that, to be wrapped, or to be called for some pods.
	// It has the clock, the log and the recorder of the node too.
	Reference podsync.Config
	// SetStability sets podworkers.Config.Stability: for which pods the new PodSyncer has
	// nothing to do until something changes. NewSyncer may call it once, before it returns.
	// Without it every pod is synced once in Config.Sync.Resync. The podsync.Syncer that a
	// PodSyncer wraps will do, if the wrapper has nothing of its own to do in each SyncPod.
	SetStability func(podworkers.StabilityReporter)
}

// Forgetter is a PodSyncer that remembers something of pods between its calls. One
// without this method is not asked to forget.
type Forgetter interface {
	// Forget drops what is remembered of every pod for which keep answers false. It is
	// called after each housekeeping, by one goroutine, concurrently with all other
	// methods. keep does not block.
	Forget(keep func(uid types.UID) bool)
}

// FeatureReporter is a PodSyncer that honours only some fields of a pod. The node
// refuses pods that need others, with reason UnsupportedField. For a PodSyncer without
// this method no field is checked; Config.Scheduling.Admit can do that.
type FeatureReporter interface {
	// Features returns what the PodSyncer can do now. The node calls it for each pod that asks
	// for admission, concurrently. It must not block.
	Features() podsync.Features
}

// VolumeRefresher is a PodSyncer that brings the files of volumes up to date also while a call
// for their pod is under way, which may hang. Without these methods they follow with the syncs.
type VolumeRefresher interface {
	// VolumesChanged is called when something has changed of which files of the pod may be
	// made: with each RequestSync, and when a source has changed the pod or delivers it for the
	// first time. It must not block, and is called concurrently.
	VolumesChanged(uid types.UID)
	// RefreshVolumes runs as long as the node does. It is called once and ends with ctx.
	RefreshVolumes(ctx context.Context) error
}

// PodObserver is a PodSyncer that waits for containers to end during its calls.
type PodObserver interface {
	// ObservePod is called after each successful inspection of a pod, with what it has shown,
	// concurrently with all other methods. It must not block, and only reads the status.
	ObservePod(status *runtime.PodStatus)
}

var (
	_ PodObserver     = (*podsync.Syncer)(nil)
	_ Forgetter       = (*podsync.Syncer)(nil)
	_ FeatureReporter = (*podsync.Syncer)(nil)
	_ VolumeRefresher = (*podsync.Syncer)(nil)
)

// notifyingManager is the manager of a node. It calls changed for each pod that is added or updated.
type notifyingManager struct {
	*podmanager.Store
	changed func(types.UID)
}

// AddPod implements syncloop.Manager. The pod may run already, with files of an earlier agent.
func (m notifyingManager) AddPod(pod *v1.Pod) {
	m.Store.AddPod(pod)
	m.changed(pod.UID)
}

// UpdatePod implements syncloop.Manager.
func (m notifyingManager) UpdatePod(pod *v1.Pod) {
	m.Store.UpdatePod(pod)
	m.changed(pod.UID)
}

// requestVolumeRefresh calls VolumesChanged of a PodSyncer that refreshes volumes.
func (n *Node) requestVolumeRefresh(uid types.UID) {
	if r, ok := n.syncer.(VolumeRefresher); ok {
		_ = n.guard.Call("NewSyncer.VolumesChanged", func() { r.VolumesChanged(uid) })
	}
}

// buildSyncer builds the PodSyncer.
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
		return errors.New("node: Config.NewSyncer has returned no PodSyncer")
	}
	return nil
}

// referenceSyncerConfig returns the configuration of the reference PodSyncer.
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
		Allocatable:     n.config.resourceFieldAllocatable(), MemoryBytes: n.config.machineMemoryBytes(),
		Handlers: n.config.Containers.Handlers, RuntimeClass: n.config.Containers.RuntimeClass, RuntimeName: n.config.Containers.RuntimeName, LogRoot: n.config.Logs.Root, SeccompRoot: n.config.Containers.SeccompRoot,
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

// forgetUnknownPods drops what the PodSyncer remembers of pods that the node does not know.
func (n *Node) forgetPodsInSyncer() {
	if f, ok := n.syncer.(Forgetter); ok {
		_ = n.guard.Call("NewSyncer.Forget", func() { f.Forget(n.cleaner.isKnownOrObserved) }) // The log names a panic.
	}
}

// syncerFeatures returns a function for what the PodSyncer and the checks of probes can do now, or nil if
// the PodSyncer does not report it.
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
