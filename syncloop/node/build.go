package node

import (
	"context"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// setInMemoryVolumesIfUnset sets Volumes.Manager and Volumes.Files to in-memory volumes, each only if the
// Config does not set it.
func (c *Config) setInMemoryVolumesIfUnset() {
	volumes := inmemory.New(inmemory.Config{Objects: c.Volumes.Objects, Tokens: c.Volumes.Tokens, Claims: c.Volumes.Claims, Allocatable: c.Allocatable()})
	if c.Volumes.Manager == nil {
		c.Volumes.Manager = volumes
	}
	if c.Volumes.Files == nil {
		c.Volumes.Files = volumes
	}
}

// builder builds the parts of a node, each after the parts that it needs.
type builder struct{ node *Node }

// buildSourcesAndStatusStore builds the pod sources, the store of the desired pods, the status store and, if
// there is a sink, the status sender. It also builds the drainer, the scheduling part and the part that
// implements Apply, and gives these parts to those that need them.
func (b *builder) buildSourcesAndStatusStore() (err error) {
	n := b.node
	handle := source.NewHandleWith(source.HandleConfig{Incomplete: n.config.Pods.AwaitHost, Guarded: n.config.Pods.FromAPIServer, Owned: true})
	sources := maps.Clone(n.config.Pods.Sources)
	if sources == nil {
		sources = make(map[string]source.Source, 1)
	}
	if !n.config.hasAPIServerSource() {
		sources[hostSource] = handle
	}
	n.sources, err = source.New(source.Config{Sources: sources, Clock: n.config.Clock, Log: n.config.Log, Recorder: n.config.Recorder,
		Owner: n.findOwnerOfRecordsOrVolumes,
		Hooks: n.config.Hooks.sourceHooks(n),
	})
	if err != nil {
		return err
	}
	n.manager = podmanager.New()
	n.cleaner.sources, n.cleaner.manager = n.sources, n.manager
	n.drainer = &drainer{executor: n.executor, manager: n.manager, running: &n.running, done: n.done}
	n.host = &hostPods{config: &n.config, handle: handle, manager: n.manager, ready: n.ready, done: n.done}
	n.scheduling = &Scheduling{config: &n.config, guard: n.guard, host: n.host, manager: n.manager, done: n.done, requestSync: func(uid types.UID) { n.loop.RequestSync(uid) }}
	n.status = status.New(status.Config{Clock: n.config.Clock, Translator: n.manager, Log: n.config.Log,
		Hooks: n.config.Hooks.statusHooks(n),
	})
	n.journal.manager, n.journal.status = n.manager, n.status
	n.view.manager, n.view.status = n.manager, n.status
	return b.buildSenderIfSinkSet()
}

// buildPLEG builds the PLEG (pod lifecycle event generator), which observes the runtime, and gives it to the
// cleaner.
func (b *builder) buildPLEG() (err error) {
	n := b.node
	n.pleg, err = pleg.New(pleg.Config{
		Runtime:      n.config.Runtime,
		Clock:        n.config.Clock,
		RelistPeriod: n.config.Sync.Relist,
		Log:          n.config.Log,
		Hooks:        n.config.Hooks.plegHooks(n),
	})
	n.cleaner.pleg = n.pleg
	return err
}

// buildSyncerAndWorkers builds the prober, the image manager, the PodSyncer and the pod workers.
func (b *builder) buildSyncerAndWorkers() (err error) {
	n := b.node
	if err := b.buildProbes(); err != nil {
		return err
	}
	n.images, err = images.New(images.Config{
		Images:   n.config.Runtime,
		MaxPulls: n.config.Images.MaxPulls, MaxPullsPerRegistry: n.config.Images.MaxPullsPerRegistry,
		Clock: n.config.Clock, Log: n.config.Log,
		Hooks: n.config.Hooks.imageHooks(n),
	})
	if err != nil {
		return err
	}
	if err := b.buildSyncer(); err != nil {
		return err
	}
	n.workers, err = podworkers.New(podworkers.Config{
		Syncer:       n.syncer,
		Stability:    n.stability,
		Cache:        n.pleg,
		Retry:        backoff.Retry{Resync: n.config.Sync.Resync},
		MaxSyncs:     n.config.Sync.MaxSyncs,
		DrainTimeout: n.config.Sync.DrainTimeout,
		Clock:        n.config.Clock,
		Jitter:       n.config.Jitter,
		Log:          n.config.Log,
		Recorder:     n.config.Recorder,
		Hooks:        podworkers.Hooks{Phase: n.recordPhaseAndNotify, Forgotten: n.requestCleanupAndNotifyHandlersWatchersHook, Syncing: n.config.Hooks.Workers.Syncing, Synced: n.recordSyncAndNotify, Panicked: n.guard.RecordPanic},
	})
	return err
}

// buildCollectors builds the garbage collectors of pods, containers and images, and the part that
// Node.Containers returns.
func (b *builder) buildCollectors() (err error) {
	n := b.node
	n.podCollector, err = gc.NewPods(gc.PodsConfig{
		Runtime:   n.config.Runtime,
		Removable: n.cleaner.canRemoveRuntimeRecords,
		Removed:   n.cleaner.relistAndRequestCleanup,
		Clock:     n.config.Clock,
		Log:       n.config.Log,
		Panicked:  n.guard.RecordPanic,
	})
	if err != nil {
		return err
	}
	containers := gc.ContainersConfig{
		Runtime:  n.config.Runtime,
		Seen:     n.pleg,
		Living:   n.cleaner.needsRuntimeRecords,
		Removed:  n.cleaner.relistAndRequestImageGC,
		Policy:   n.config.Containers.GC,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Panicked: n.guard.RecordPanic,
	}
	if n.logs != nil {
		containers.Logs = n.logs
	}
	n.containerCollector, err = gc.NewContainers(containers)
	if err != nil {
		return err
	}
	n.imageCollector, err = gc.NewImages(gc.ImagesConfig{
		Runtime:  n.config.Runtime,
		Images:   n.images,
		Seen:     n.pleg,
		Policy:   n.config.Images.GC,
		Recorder: n.config.Recorder,
		Node:     &v1.ObjectReference{Kind: "Node", Name: n.config.Name, UID: types.UID(n.config.Name)},
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Panicked: n.guard.RecordPanic,
	})
	n.containers = &Containers{
		config: &n.config, runtime: n.runtime, executor: n.executor, manager: n.manager, status: n.status, pleg: n.pleg,
		imageCollector: n.imageCollector, sampler: n.sampler, findUIDsByName: n.view.findUIDsByName, observations: n.evictorObservations,
	}
	return err
}

// buildLoop builds the handlers of the sync loop, the active deadlines and the loop itself. It then gives them
// to the parts that were built before and need them.
func (b *builder) buildLoop() (err error) {
	n := b.node
	handlers := syncloop.HandlersConfig{
		Manager:     notifyingManager{n.manager, n.requestVolumeRefresh},
		Workers:     n.workers,
		Status:      n.status,
		Runtime:     n.pleg,
		Sources:     n.sources,
		Admit:       b.admitHandlers(),
		Closed:      n.drainer.draining.Load,
		WhenFull:    n.config.Scheduling.WhenFull,
		OrphanGrace: n.config.Pods.OrphanGrace,

		FromAPIServer: n.scheduling.isFromAPIServer,
		Resizes:       n.resizesConfig(),
		Discard:       n.podCollector.Discard,
		Rejected:      n.config.Hooks.Rejected,
		Recorder:      n.config.Recorder,
		Clock:         n.config.Clock,
		Log:           n.config.Log,
		Panicked:      n.guard.RecordPanic,
	}
	if n.config.Pods.TerminalStatuses != nil {
		handlers.TerminalStatus = n.config.Pods.TerminalStatuses.Consume
		handlers.DropTerminalStatus = n.statuses.requestDrop
		handlers.SaveTerminalStatus = n.statuses.requestSave
	}
	if n.handlers, err = syncloop.NewHandlers(handlers); err != nil {
		return err
	}
	n.host.handlers, n.scheduling.handlers = n.handlers, n.handlers
	n.deadlines, err = syncloop.NewDeadlines(syncloop.DeadlinesConfig{
		Desired: n.manager, Workers: n.workers, Status: n.status,
		Recorder: n.config.Recorder, Clock: n.config.Clock, Log: n.config.Log, Panicked: n.guard.RecordPanic,
	})
	if err != nil {
		return err
	}
	n.loop, err = syncloop.New(syncloop.Config{
		Handler:            n.handlers,
		Updates:            n.sources,
		Desired:            n.manager,
		Changes:            n.pleg,
		Readiness:          n.status,
		Deadlines:          n.deadlines,
		ReadyToStart:       n.isReadyToStart,
		HousekeepingPeriod: n.config.Sync.Housekeeping,
		Clock:              n.config.Clock,
		Log:                n.config.Log,
		Hooks:              n.config.Hooks.loopHooks(n),
	})
	n.journal.workers = n.workers
	n.cleaner.workers, n.cleaner.handlers, n.cleaner.loop, n.cleaner.imageCollector = n.workers, n.handlers, n.loop, n.imageCollector
	n.view.workers, n.view.handlers, n.view.pleg = n.workers, n.handlers, n.pleg
	n.drainer.handlers, n.drainer.workers, n.drainer.pleg, n.drainer.loop = n.handlers, n.workers, n.pleg, n.loop
	return err
}

// admitHandlers returns the admission handlers of the node. If the node has an evictor, the check of the pressure
// conditions comes first, as in the kubelet.
func (b *builder) admitHandlers() []syncloop.PodAdmitHandler {
	n := b.node
	handlers := n.scheduling.admitHandlers(b.syncerFeatures())
	if n.evictor != nil {
		handlers = append([]syncloop.PodAdmitHandler{admitUnderPressure(func() []v1.NodeConditionType { return n.evictorPressure().Conditions })}, handlers...)
	}
	return handlers
}

// wrapFunctionsAgainstPanics wraps the log, the recorder and those functions of the Config that the node itself
// calls, so that a panic fails only that call; events are also shortened. It returns the guard that records
// these panics. The other parts of the node wrap the functions that they call.
func (c *Config) wrapFunctionsAgainstPanics() *contain.Guard {
	g := contain.New(contain.Config{Package: "node", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Workers.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = truncatingRecorder{contain.NewRecorder(g, c.Recorder)}
	}
	evictable := c.Scheduling.Evictable
	c.Scheduling.Evictable = func(pod *v1.Pod) bool {
		return contain.CallOrDefault(g, "Evictable", false, func() bool { return evictable(pod) })
	}
	if c.Hooks.Timeline != nil {
		c.Hooks.Timeline = contain.Hook2(g, "Hooks.Timeline", c.Hooks.Timeline)
	}
	c.Hooks.containStatusHookPanics(g)
	c.Hooks.Workers.Phase = contain.Hook3(g, "Hooks.Phase", c.Hooks.Workers.Phase)
	c.Hooks.Workers.Syncing = contain.Hook2(g, "Hooks.Syncing", c.Hooks.Workers.Syncing)
	c.Hooks.Workers.Synced = contain.Hook1(g, "Hooks.Synced", c.Hooks.Workers.Synced)
	c.Hooks.Workers.Forgotten = contain.Hook1(g, "Hooks.Forgotten", c.Hooks.Workers.Forgotten)
	return g
}

// maxEventMessage is the maximum length of an event message in bytes, as in the Kubernetes API. An
// error of a runtime or a registry can be longer.
const maxEventMessage = 1024

// truncatingRecorder truncates event messages to maxEventMessage and replaces invalid UTF-8.
type truncatingRecorder struct{ runtime.EventRecorder }

// Event implements runtime.EventRecorder.
func (b truncatingRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	b.EventRecorder.Event(object, eventtype, reason, truncateEventMessage(message))
}

// Eventf implements runtime.EventRecorder. It formats the message itself, so that errors read as
// sentences.
func (b truncatingRecorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	b.Event(object, eventtype, reason, plain.Sentence(messageFmt, args...))
}

// truncateEventMessage shortens a message of more than maxEventMessage bytes to that length, with "…" at the
// end. It removes or replaces invalid UTF-8.
func truncateEventMessage(message string) string {
	const sign = "…"
	if len(message) > maxEventMessage {
		message = strings.ToValidUTF8(message[:maxEventMessage-len(sign)], "") + sign
	}
	return strings.ToValidUTF8(message, "?")
}

// startDetachedSenderIfAny starts the status sender in the background; without a sink it starts nothing. The
// end of ctx does not stop the sender: stop stops it and waits until it has returned. The caller calls stop
// after all other parts have stopped, so that their last statuses are sent.
func (n *Node) startDetachedSenderIfAny(ctx context.Context) (stop func()) {
	if n.sender == nil {
		return func() {}
	}
	ctx, end := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(n.executor)
	group.Go(func() {
		if err := n.sender.Run(ctx); err != nil {
			n.addRunError(err)
		}
	})
	return func() {
		end()
		group.Wait()
	}
}

// buildSenderIfSinkSet builds the sender of statuses if Config.Statuses.Sink is set.
func (b *builder) buildSenderIfSinkSet() (err error) {
	n := b.node
	if n.config.Statuses.Sink == nil {
		return nil
	}
	n.sender, err = status.NewSender(status.SenderConfig{
		Store:    n.status,
		Sink:     n.config.Statuses.Sink,
		Workers:  n.config.Statuses.MaxSends,
		Delay:    n.config.Statuses.SendDelay,
		CouldRun: n.view.mayHaveRunningContainers,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Hooks:    n.config.Hooks.senderHooks(n),
	})
	return err
}

// mayHaveRunningContainers reports whether the pod has a worker and its containers may still run. While it
// returns true, the sender does not send a terminal status. (ST-17)
func (v *podsView) mayHaveRunningContainers(uid types.UID) bool {
	return viewMayHaveRunningContainers(v.workers.View(uid))
}

// buildLogRotatorIfEnabled builds the log rotator. It builds none if Config.Logs has no Root or the limits
// disable rotation.
func (b *builder) buildLogRotatorIfEnabled() (err error) {
	n := b.node
	limits := policy.Logs{MaxBytes: n.config.Logs.MaxBytes, MaxFiles: n.config.Logs.MaxFiles}
	if n.logs == nil || limits.IsDisabled() {
		return nil
	}
	n.logRotator, err = gc.NewLogs(gc.LogsConfig{
		Store: rotatableLogs{n.logs, n.runtime}, Runtime: n.runtime, Seen: n.pleg, Policy: limits, Clock: n.config.Clock, Log: n.config.Log,
		Panicked: n.guard.RecordPanic,
	})
	return err
}

// rotatableLogs are logs that are due for rotation only while the runtime can reopen logs. A runtime
// can gain and lose that feature when it reconnects, so Due asks for the feature each time.
type rotatableLogs struct {
	*logfiles.Dir
	runtime runtime.FeatureReporter
}

// Due implements gc.LogStore.
func (r rotatableLogs) Due(log logfiles.Log, maxBytes int64) (bool, error) {
	if r.runtime.Features().LogReopener == nil {
		return false, nil
	}
	return r.Dir.Due(log, maxBytes)
}
