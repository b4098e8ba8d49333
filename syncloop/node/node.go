package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/turn"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/paper"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/workqueue"
)

// Node is every part of this library put together. Its methods are safe for
// concurrent use.
type Node struct {
	config   Config
	turn     turn.Turn
	host     *source.Handle
	held     *held
	draining *draining
	// histories is what Explain knows of the past.
	histories *histories

	sources  *source.Mux
	manager  *podmanager.Store
	status   *status.Store
	sender   *status.Sender // nil: nobody is told
	pleg     *pleg.PLEG
	prober   *prober.Prober
	syncer   *podsync.Syncer
	workers  *podworkers.Workers
	handlers *syncloop.Handlers
	limits   *syncloop.Deadlines
	loop     *syncloop.Loop
	leftover *gc.Pods
	dead     *gc.Containers
	unused   *gc.Images
	images   *images.Manager
	// directories remove what pods leave on the disk; logs is nil without a place
	// for logs.
	directories []*gc.Directories
	logs        *logfiles.Dir

	ready, done turn.Latch
	mu          struct {
		sync.Mutex
		ran      bool
		listed   bool // the runtime has been asked for its pods
		seen     bool // and could answer the last time
		tidy     bool // no directories are left of pods that are gone, as far as is known
		err      error
		watchers []*watcher // replaced, never changed in place
	}
}

// The errors of a node's life.
var (
	// ErrRan is returned by a second call of Run: a node lives once.
	ErrRan = errors.New("node: Run is called once")
	// ErrNotRunning is returned by Drain before Run: what runs is not known.
	ErrNotRunning = errors.New("node: Run has not been called")
	// ErrStopped is returned to those who want something of a node whose Run
	// has ended.
	ErrStopped = errors.New("node: Run has ended")
)

// New puts a node together. It runs nothing until Run is called, and names
// everything that is wrong with the Config at once.
func New(config Config) (*Node, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := turn.Over(config.Clock)
	if config.Runtime == nil {
		config.Runtime = memory.New(memory.Config{Clock: config.Clock})
		config.onPaper()
	}
	n := &Node{config: config, turn: t, host: source.NewHandle(), draining: &draining{}, histories: newHistories(), ready: t.NewLatch(), done: t.NewLatch()}
	for _, build := range []func() error{n.buildDesire, n.buildTruth, n.buildDirectories, n.buildWork, n.buildLoop} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// onPaper gives a runtime without a file system volumes without one.
func (c *Config) onPaper() {
	volumes := paper.New(paper.Config{Objects: c.Objects, Allocatable: c.allocatable()})
	if c.Volumes == nil {
		c.Volumes = volumes
	}
	if c.Files == nil {
		c.Files = volumes
	}
}

// buildDesire: what the node has been told, and what it tells back.
func (n *Node) buildDesire() (err error) {
	n.held = hold(n.host, !n.config.AwaitHost)
	sources := maps.Clone(n.config.Sources)
	if sources == nil {
		sources = make(map[string]source.Source, 1)
	}
	sources[hostSource] = n.held
	n.sources, err = source.New(source.Config{Sources: sources, Clock: n.config.Clock, Log: n.config.Log, Recorder: n.config.Recorder})
	if err != nil {
		return err
	}
	n.manager = podmanager.New()
	n.status = status.New(status.Config{Clock: n.config.Clock, Translator: n.manager, Log: n.config.Log, Hooks: status.Hooks{Accepted: n.accepted}})
	return n.buildSender()
}

// buildTruth: what the runtime shows.
func (n *Node) buildTruth() (err error) {
	n.pleg, err = pleg.New(pleg.Config{
		Runtime:      n.config.Runtime,
		Clock:        n.config.Clock,
		RelistPeriod: n.config.Relist,
		Log:          n.config.Log,
		Hooks:        pleg.Hooks{Relisted: n.relisted},
	})
	return err
}

// buildWork: what happens to each pod.
func (n *Node) buildWork() (err error) {
	if err := n.buildProbes(); err != nil {
		return err
	}
	n.images, err = images.New(images.Config{
		Images:   n.config.Runtime,
		MaxPulls: n.config.MaxPulls, MaxPullsPerRegistry: n.config.MaxPullsPerRegistry,
		Clock: n.config.Clock,
		Hooks: images.Hooks{Pulled: func(images.Pull) { n.unused.Changed() }},
	})
	if err != nil {
		return err
	}
	config := podsync.Config{
		Images: n.images, Keyring: n.config.Keyring,
		Runtime: n.config.Runtime,
		Status:  n.status,
		Changed: n.pleg.RequestRelist,
		Probes:  n.prober,
		Volumes: n.config.Volumes, Files: n.config.Files, Objects: n.config.Objects, HTTP: n.config.HTTP,
		DNS:         n.config.DNS,
		Allocatable: n.config.allocatable(), MemoryBytes: uint64(max(n.config.Capacity.Memory().Value(), 0)),
		Handlers: n.config.Handlers, RuntimeName: n.config.RuntimeName, LogRoot: n.config.LogRoot,
		HostIPs:  n.config.HostIPs,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
		Recorder: n.config.Recorder,
		Hooks:    podsync.Hooks{Did: n.did, Held: n.holds},
	}
	if n.logs != nil {
		config.Logs = n.logs
	}
	n.syncer, err = podsync.New(config)
	if err != nil {
		return err
	}
	n.workers, err = podworkers.New(podworkers.Config{
		Syncer:       n.syncer,
		Cache:        n.pleg,
		Retry:        workqueue.Policy{Resync: n.config.Resync},
		MaxSyncs:     n.config.MaxSyncs,
		DrainTimeout: n.config.DrainTimeout,
		Clock:        n.config.Clock,
		Jitter:       n.config.Jitter,
		Log:          n.config.Log,
		Recorder:     n.config.Recorder,
		Hooks:        podworkers.Hooks{Phase: n.phase, Forgotten: n.forgotten, Synced: n.synced},
	})
	return err
}

// buildLoop: who is called when.
func (n *Node) buildLoop() (err error) {
	n.leftover, err = gc.NewPods(gc.PodsConfig{
		Runtime:   n.config.Runtime,
		Removable: n.removable,
		Removed:   n.emptied,
		Clock:     n.config.Clock,
		Log:       n.config.Log,
	})
	if err != nil {
		return err
	}
	containers := gc.ContainersConfig{
		Runtime: n.config.Runtime,
		Seen:    n.pleg,
		Living:  n.living,
		Removed: n.cleared,
		Policy:  n.config.GC,
		Clock:   n.config.Clock,
		Log:     n.config.Log,
	}
	if n.logs != nil {
		containers.Logs = n.logs
	}
	n.dead, err = gc.NewContainers(containers)
	if err != nil {
		return err
	}
	n.unused, err = gc.NewImages(gc.ImagesConfig{
		Runtime:  n.config.Runtime,
		Images:   n.images,
		Seen:     n.pleg,
		Policy:   n.config.ImageGC,
		Recorder: n.config.Recorder,
		Node:     &v1.ObjectReference{Kind: "Node", Name: n.config.Name, UID: types.UID(n.config.Name)},
		Clock:    n.config.Clock,
		Log:      n.config.Log,
	})
	if err != nil {
		return err
	}
	n.handlers, err = syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager:  n.manager,
		Workers:  n.workers,
		Status:   n.status,
		Runtime:  n.pleg,
		Sources:  n.sources,
		Admit:    n.admission(),
		Closed:   n.draining.hasBegun,
		Discard:  n.leftover.Discard,
		Recorder: n.config.Recorder,
		Clock:    n.config.Clock,
		Log:      n.config.Log,
	})
	if err != nil {
		return err
	}
	n.limits, err = syncloop.NewDeadlines(syncloop.DeadlinesConfig{
		Desired: n.manager, Workers: n.workers, Status: n.status,
		Recorder: n.config.Recorder, Clock: n.config.Clock, Log: n.config.Log,
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
		Deadlines:          n.limits,
		Settled:            n.settled,
		HousekeepingPeriod: n.config.Housekeeping,
		Clock:              n.config.Clock,
		Log:                n.config.Log,
		Hooks:              syncloop.Hooks{Cleanup: n.cleaned},
	})
	return err
}

// Run runs the node until ctx ends and its last goroutine has ended, and
// returns nil then. Containers are left as they are: Drain first to end them.
// It returns early if a part fails, and with podworkers.ErrNotDrained if a
// runtime holds up a sync for longer than Config.DrainTimeout. It is called
// once.
func (n *Node) Run(ctx context.Context) error {
	n.mu.Lock()
	again := n.mu.ran
	n.mu.ran = true
	n.mu.Unlock()
	if again {
		return ErrRan
	}
	sent := n.send(ctx)
	ctx, cancel := turn.WithCancel(ctx)
	defer cancel()
	group := turn.NewGroup(n.turn)
	parts := []func(context.Context) error{n.sources.Run, n.pleg.Run, n.prober.Run, n.workers.Run, n.leftover.Run, n.dead.Run, n.unused.Run, n.loop.Run}
	for _, d := range n.directories {
		parts = append(parts, d.Run)
	}
	for _, part := range parts {
		group.Go(func() {
			if err := part(ctx); err != nil {
				n.fail(err)
				cancel()
			}
		})
	}
	group.Wait()
	sent()
	n.done.Open()
	return n.Err()
}

func (n *Node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.err = errors.Join(n.mu.err, err)
}

// Ready is closed once every source has been heard, the runtime has been seen
// and the first housekeeping is over.
func (n *Node) Ready() <-chan struct{} { return n.ready.Done() }

// Done is closed when Run has ended.
func (n *Node) Done() <-chan struct{} { return n.done.Done() }

// Err is what Run has returned, or, while it comes to its end because a part
// has failed, why. It is nil for a node that is well.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.err
}

// Healthy returns nil, or everything that is wrong with the node now.
func (n *Node) Healthy() error {
	_, err := n.pleg.Healthy()
	return errors.Join(n.loop.Healthy(), err)
}

// Waiting returns nil for a ready node, or what it still waits for.
func (n *Node) Waiting() error {
	if n.ready.Opened() {
		return nil
	}
	if !n.sources.AllSeen() {
		return errors.New("node: not every source of pods has been heard")
	}
	if _, err := n.pleg.Healthy(); err != nil {
		return fmt.Errorf("node: the runtime has not been seen: %w", err)
	}
	return errors.New("node: the first housekeeping is not over")
}

// Poke asks for a pod to be looked at soon. It never blocks.
func (n *Node) Poke(uid types.UID) { n.loop.Poke(uid) }

// relisted follows every listing. The first one lets the loop begin; one that
// succeeds after a failure may release what was held; and until the node is
// ready each asks for housekeeping, since an empty runtime gives no other
// reason for one.
func (n *Node) relisted(r pleg.Relisting) {
	n.mu.Lock()
	recovered := r.Err == nil && !n.mu.seen
	n.mu.listed, n.mu.seen = true, r.Err == nil
	n.mu.Unlock()
	if recovered || !n.ready.Opened() {
		n.loop.Touch()
	}
}

// settled: every source and the runtime have been asked once. Whether the
// runtime could answer does not matter: desire is read in any case.
func (n *Node) settled() bool {
	n.mu.Lock()
	listed := n.mu.listed
	n.mu.Unlock()
	return listed && n.sources.AllDelivered()
}

// removable: nothing of the pod is needed any more. The collector asks before
// each removal.
func (n *Node) removable(uid types.UID) bool {
	_, wanted := n.manager.GetPodByUID(uid)
	return !wanted && n.workers.View(uid).ShouldPodContentBeRemoved()
}

// cleared follows every removal of records: there is something to see, and an
// image may be of no use any more.
func (n *Node) cleared(uid types.UID) {
	n.pleg.RequestRelist(uid)
	n.unused.Changed()
}

// emptied follows the removal of the last record of a pod.
func (n *Node) emptied(uid types.UID) {
	n.cleared(uid)
	n.untidy()
}

// DeleteUnusedImages removes all images that no container refers to, whatever
// Config.ImageGC says: for those who need the room. It returns how many bytes
// that has freed.
func (n *Node) DeleteUnusedImages(ctx context.Context) (freed uint64, err error) {
	return n.unused.DeleteUnusedImages(ctx)
}

// living: the pod is one of ours, and will not lose all its records anyway.
func (n *Node) living(uid types.UID) bool { return n.known(uid) && !n.removable(uid) }

// cleaned follows every housekeeping: it drops what is remembered of pods that
// nobody knows, and opens the door once a housekeeping has seen every source and the
// runtime.
func (n *Node) cleaned(_ time.Duration, err error) {
	n.syncer.Forget(n.remembered)
	n.histories.forget(n.known)
	n.prober.CleanupPods(n.probed)
	if err != nil || !n.sources.AllSeen() {
		return
	}
	n.tidyUp()
	if ok, _ := n.pleg.Healthy(); ok {
		n.ready.Open()
	}
}

// remembered: somebody still knows the pod, so its life may not be taken for
// that of the next one with its UID.
func (n *Node) remembered(uid types.UID) bool {
	if n.workers.View(uid).Known() {
		return true
	}
	seen, err := n.pleg.Get(uid)
	return err != nil || len(seen.Sandboxes)+len(seen.Containers) > 0
}

// known: the pod is wanted, or has a worker.
func (n *Node) known(uid types.UID) bool {
	_, wanted := n.manager.GetPodByUID(uid)
	return wanted || n.workers.View(uid).Known()
}

func (n *Node) phase(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
	n.enters(uid, phase)
	n.limits.Note(uid)
	if phase == lifecycle.Finished {
		n.loop.Touch()
	}
	n.changed(uid)
	if n.config.Hooks.Phase != nil {
		n.config.Hooks.Phase(uid, incarnation, phase)
	}
}

// synced: a sync that left the status as it was may still have been of a pod
// that is wanted in another form.
func (n *Node) synced(s podworkers.Synced) {
	n.remember(s)
	n.changed(s.UID)
	n.dead.Changed(s.UID)
	if n.config.Hooks.Synced != nil {
		n.config.Hooks.Synced(s)
	}
}

func (n *Node) forgotten(uid types.UID) {
	n.untidy()
	n.loop.Touch()
	n.changed(uid)
	if n.config.Hooks.Forgotten != nil {
		n.config.Hooks.Forgotten(uid)
	}
}
