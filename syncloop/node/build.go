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
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// inMemory sets in-memory volumes, for a runtime without a file system.
func (c *Config) inMemory() {
	volumes := inmemory.New(inmemory.Config{Objects: c.Volumes.Objects, Tokens: c.Volumes.Tokens, Claims: c.Volumes.Claims, Allocatable: c.toldAllocatable()})
	if c.Volumes.Manager == nil {
		c.Volumes.Manager = volumes
	}
	if c.Volumes.Files == nil {
		c.Volumes.Files = volumes
	}
}

// builder puts the parts of a node together, each after those that it needs.
type builder struct{ *Node }

// buildDesired builds the parts that hold the desired pods and their statuses.
func (b *builder) buildDesired() (err error) {
	handle := source.NewHandleWith(source.HandleConfig{Incomplete: b.config.Pods.AwaitHost, Guarded: b.config.Pods.FromAPIServer, Owned: true})
	sources := maps.Clone(b.config.Pods.Sources)
	if sources == nil {
		sources = make(map[string]source.Source, 1)
	}
	if !b.config.joined() {
		sources[hostSource] = handle
	}
	b.sources, err = source.New(source.Config{Sources: sources, Clock: b.config.Clock, Log: b.config.Log, Recorder: b.config.Recorder,
		Owner: b.recordOwner,
		Hooks: b.config.Hooks.sources(b.Node),
	})
	if err != nil {
		return err
	}
	b.manager = podmanager.New()
	b.drainer = &drainer{executor: b.executor, manager: b.manager, running: &b.running, done: b.done}
	b.host = &hostPods{config: &b.config, handle: handle, manager: b.manager, ready: b.ready, done: b.done}
	b.scheduling = &Scheduling{config: &b.config, guard: b.guard, host: b.host, manager: b.manager, done: b.done, requestSync: func(uid types.UID) { b.loop.RequestSync(uid) }}
	b.status = status.New(status.Config{Clock: b.config.Clock, Translator: b.manager, Log: b.config.Log,
		Hooks: b.config.Hooks.statuses(b.Node),
	})
	b.journal.manager, b.journal.status = b.manager, b.status
	b.view.manager, b.view.status = b.manager, b.status
	return b.buildSender()
}

// buildObserved builds the PLEG, which observes the runtime.
func (b *builder) buildObserved() (err error) {
	b.pleg, err = pleg.New(pleg.Config{
		Runtime:      b.config.Runtime,
		Clock:        b.config.Clock,
		RelistPeriod: b.config.Sync.Relist,
		Log:          b.config.Log,
		Hooks:        b.config.Hooks.pleg(b.Node),
	})
	return err
}

// buildWork builds the parts that run the pods.
func (b *builder) buildWork() (err error) {
	if err := b.buildProbes(); err != nil {
		return err
	}
	b.images, err = images.New(images.Config{
		Images:   b.config.Runtime,
		MaxPulls: b.config.Images.MaxPulls, MaxPullsPerRegistry: b.config.Images.MaxPullsPerRegistry,
		Clock: b.config.Clock, Log: b.config.Log,
		Hooks: b.config.Hooks.images(b.Node),
	})
	if err != nil {
		return err
	}
	if err := b.buildSyncer(); err != nil {
		return err
	}
	b.workers, err = podworkers.New(podworkers.Config{
		Syncer:       b.syncer,
		Stability:    b.stability,
		Cache:        b.pleg,
		Retry:        backoff.Retry{Resync: b.config.Sync.Resync},
		MaxSyncs:     b.config.Sync.MaxSyncs,
		DrainTimeout: b.config.Sync.DrainTimeout,
		Clock:        b.config.Clock,
		Jitter:       b.config.Jitter,
		Log:          b.config.Log,
		Recorder:     b.config.Recorder,
		Hooks:        podworkers.Hooks{Phase: b.phase, Forgotten: b.forgotten, Syncing: b.config.Hooks.Workers.Syncing, Synced: b.synced, Panicked: b.guard.RecordPanic},
	})
	return err
}

// buildCollectors builds the garbage collectors.
func (b *builder) buildCollectors() (err error) {
	b.leftover, err = gc.NewPods(gc.PodsConfig{
		Runtime:   b.config.Runtime,
		Removable: b.isRemovable,
		Removed:   b.podRemoved,
		Clock:     b.config.Clock,
		Log:       b.config.Log,
		Panicked:  b.guard.RecordPanic,
	})
	if err != nil {
		return err
	}
	containers := gc.ContainersConfig{
		Runtime:  b.config.Runtime,
		Seen:     b.pleg,
		Living:   b.isLiving,
		Removed:  b.containersRemoved,
		Policy:   b.config.Containers.GC,
		Clock:    b.config.Clock,
		Log:      b.config.Log,
		Panicked: b.guard.RecordPanic,
	}
	if b.logs != nil {
		containers.Logs = b.logs
	}
	b.dead, err = gc.NewContainers(containers)
	if err != nil {
		return err
	}
	b.unused, err = gc.NewImages(gc.ImagesConfig{
		Runtime:  b.config.Runtime,
		Images:   b.images,
		Seen:     b.pleg,
		Policy:   b.config.Images.GC,
		Recorder: b.config.Recorder,
		Node:     &v1.ObjectReference{Kind: "Node", Name: b.config.Name, UID: types.UID(b.config.Name)},
		Clock:    b.config.Clock,
		Log:      b.config.Log,
		Panicked: b.guard.RecordPanic,
	})
	b.containers = &Containers{
		config: &b.config, runtime: b.runtime, executor: b.executor, manager: b.manager, status: b.status, pleg: b.pleg,
		unused: b.unused, sampler: b.sampler, podsByName: b.view.podsByName,
	}
	return err
}

// buildLoop builds the sync loop and its handlers.
func (b *builder) buildLoop() (err error) {
	handlers := syncloop.HandlersConfig{
		Manager:     notifyingManager{b.manager, b.volumesChanged},
		Workers:     b.workers,
		Status:      b.status,
		Runtime:     b.pleg,
		Sources:     b.sources,
		Admit:       b.scheduling.admitHandlers(b.features()),
		Closed:      b.drainer.draining.Load,
		WhenFull:    b.config.Scheduling.WhenFull,
		OrphanGrace: b.config.Pods.OrphanGrace,

		FromAPIServer: b.scheduling.fromAPIServer,
		Discard:       b.leftover.Discard,
		Rejected:      b.config.Hooks.Rejected,
		Recorder:      b.config.Recorder,
		Clock:         b.config.Clock,
		Log:           b.config.Log,
		Panicked:      b.guard.RecordPanic,
	}
	if b.config.Pods.TerminalStatuses != nil {
		handlers.Ended = b.config.Pods.TerminalStatuses.Consume
		handlers.DropEnded = b.statuses.requestDrop
		handlers.SaveEnded = b.statuses.requestSave
	}
	if b.handlers, err = syncloop.NewHandlers(handlers); err != nil {
		return err
	}
	b.host.handlers, b.scheduling.handlers = b.handlers, b.handlers
	b.limits, err = syncloop.NewDeadlines(syncloop.DeadlinesConfig{
		Desired: b.manager, Workers: b.workers, Status: b.status,
		Recorder: b.config.Recorder, Clock: b.config.Clock, Log: b.config.Log, Panicked: b.guard.RecordPanic,
	})
	if err != nil {
		return err
	}
	b.loop, err = syncloop.New(syncloop.Config{
		Handler:            b.handlers,
		Updates:            b.sources,
		Desired:            b.manager,
		Changes:            b.pleg,
		Readiness:          b.status,
		Deadlines:          b.limits,
		ReadyToStart:       b.isReadyToStart,
		HousekeepingPeriod: b.config.Sync.Housekeeping,
		Clock:              b.config.Clock,
		Log:                b.config.Log,
		Hooks:              b.config.Hooks.loop(b.Node),
	})
	b.journal.workers = b.workers
	b.view.workers, b.view.handlers, b.view.pleg = b.workers, b.handlers, b.pleg
	b.drainer.handlers, b.drainer.workers, b.drainer.pleg, b.drainer.loop = b.handlers, b.workers, b.pleg, b.loop
	return err
}

// contain wraps the functions of the Config that the node itself calls, so that a panic fails that call alone.
// The parts of the node wrap what they call, and report panics to the guard.
func (c *Config) contain() *contain.Guard {
	g := contain.New(contain.Config{Package: "node", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Workers.Panicked})
	c.Log = g.Log()
	if c.Recorder != nil {
		c.Recorder = shortRecorder{contain.NewRecorder(g, c.Recorder)}
	}
	evictable := c.Scheduling.Evictable
	c.Scheduling.Evictable = func(pod *v1.Pod) bool {
		return contain.CallOrDefault(g, "Evictable", false, func() bool { return evictable(pod) })
	}
	if c.Hooks.Timeline != nil {
		c.Hooks.Timeline = contain.Hook2(g, "Hooks.Timeline", c.Hooks.Timeline)
	}
	c.Hooks.contain(g)
	c.Hooks.Workers.Phase = contain.Hook3(g, "Hooks.Phase", c.Hooks.Workers.Phase)
	c.Hooks.Workers.Syncing = contain.Hook2(g, "Hooks.Syncing", c.Hooks.Workers.Syncing)
	c.Hooks.Workers.Synced = contain.Hook1(g, "Hooks.Synced", c.Hooks.Workers.Synced)
	c.Hooks.Workers.Forgotten = contain.Hook1(g, "Hooks.Forgotten", c.Hooks.Workers.Forgotten)
	return g
}

// longestEvent is how many bytes the API allows in the message of an event. An error of a runtime or a registry
// can be a whole page.
const longestEvent = 1024

// shortRecorder passes events on with messages of bounded length and valid UTF-8.
type shortRecorder struct{ runtime.EventRecorder }

// Event implements runtime.EventRecorder.
func (b shortRecorder) Event(object k8sruntime.Object, eventtype, reason, message string) {
	b.EventRecorder.Event(object, eventtype, reason, shortened(message))
}

// Eventf implements runtime.EventRecorder. It formats the message itself, so that the length is bounded and
// errors are sentences.
func (b shortRecorder) Eventf(object k8sruntime.Object, eventtype, reason, messageFmt string, args ...any) {
	b.Event(object, eventtype, reason, plain.Sentence(messageFmt, args...))
}

func shortened(message string) string {
	const sign = "…"
	if len(message) > longestEvent {
		message = strings.ToValidUTF8(message[:longestEvent-len(sign)], "") + sign
	}
	return strings.ToValidUTF8(message, "?")
}

// send sends statuses to the sink, if there is one, until sent is called and has returned. sent is called after
// the other parts have ended, so that their last statuses are sent too.
func (n *Node) send(ctx context.Context) (sent func()) {
	if n.sender == nil {
		return func() {}
	}
	ctx, end := executor.WithCancel(executor.Detach(ctx))
	group := executor.NewGroup(n.executor)
	group.Go(func() {
		if err := n.sender.Run(ctx); err != nil {
			n.fail(err)
		}
	})
	return func() {
		end()
		group.Wait()
	}
}

// buildSender builds the sender of statuses, if the Config has a sink.
func (b *builder) buildSender() (err error) {
	if b.config.Statuses.Sink == nil {
		return nil
	}
	b.sender, err = status.NewSender(status.SenderConfig{
		Store:    b.status,
		Sink:     b.config.Statuses.Sink,
		Workers:  b.config.Statuses.MaxSends,
		CouldRun: b.view.couldRun,
		Clock:    b.config.Clock,
		Log:      b.config.Log,
		Hooks:    b.config.Hooks.sender(b.Node),
	})
	return err
}

// couldRun reports whether the terminal status of a pod must not be sent yet, because the pod may run (ST-17).
func (v *podsView) couldRun(uid types.UID) bool { return couldRun(v.workers.View(uid)) }

// buildLogs makes the collector that rotates logs. There is none without Config.Logs.Root, nor if the
// runtime is no runtime.LogReopener.
func (b *builder) buildLogs() (err error) {
	limits := policy.Logs{MaxBytes: b.config.Logs.MaxBytes, MaxFiles: b.config.Logs.MaxFiles}
	reopener := b.runtime.Features().LogReopener
	if b.logs == nil || reopener == nil || limits.Never() {
		return nil
	}
	b.rotator, err = gc.NewLogs(gc.LogsConfig{
		Store: b.logs, Runtime: reopener, Seen: b.pleg, Policy: limits, Clock: b.config.Clock, Log: b.config.Log,
		Panicked: b.guard.RecordPanic,
	})
	return err
}
