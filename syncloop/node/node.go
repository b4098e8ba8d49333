package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Node is every part of this library put together. Its methods are safe for
// concurrent use.
type Node struct {
	config   Config
	guard    *contain.Guard
	runtime  *contain.Runtime // Config.Runtime; a panic of it is the error of the call
	executor executor.Executor
	host     *hostPods
	running  atomic.Bool // Run was called
	drainer  *drainer
	journal  *journal
	view     *podsView
	feed     *feed // what List and WatchFrom show

	sources *source.Mux
	manager *podmanager.Store
	status  *status.Store
	sender  *status.Sender // nil: there is no sink
	pleg    *pleg.PLEG
	prober  *prober.Prober
	syncer  podworkers.PodSyncer
	workers *podworkers.Workers
	// stability is podworkers.Config.Stability: nil if Config.NewSyncer has set none.
	stability          podworkers.StabilityReporter
	handlers           *syncloop.Handlers
	deadlines          *syncloop.Deadlines
	loop               *syncloop.Loop
	podCollector       *gc.Pods
	containerCollector *gc.Containers
	imageCollector     *gc.Images
	images             *images.Manager
	cleaner            *cleaner
	logs               *logfiles.Dir     // nil: no directory for logs is configured
	states             *containerStates  // nil: states of containers are not stored
	statuses           *terminalStatuses // nil: terminal statuses are not stored
	logRotator         *gc.Logs          // nil: no log is rotated
	sampler            *sampler

	scheduling *Scheduling
	containers *Containers

	ready, done executor.Latch
	mu          struct {
		sync.Mutex
		listed bool // the runtime was listed, with or without success
		seen   bool // the last listing succeeded
		err    error
	}
}

// The errors of a node's life.
var (
	// ErrNotRunning is returned by Drain before Run: what runs is not known.
	ErrNotRunning = errors.New("node: Run has not been called")
	// ErrStopped is returned by the methods of a node whose Run has ended.
	ErrStopped = errors.New("node: Run has ended")
)

// New puts a node together. It runs nothing until Run is called, and names
// everything that is wrong with the Config at once.
func New(config Config) (*Node, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	if config.Runtime == nil {
		config.Runtime = memory.New(memory.Config{Clock: config.Clock})
		config.useInMemoryVolumes()
	}
	guard := config.containPanics()
	n := &Node{config: config, guard: guard, runtime: contain.NewRuntime(guard, config.Runtime), executor: t, feed: &feed{}, sampler: newSampler(t.Now()), ready: t.NewLatch(), done: t.NewLatch()}
	n.journal = &journal{config: &n.config, executor: t, history: newHistoryStore()}
	n.cleaner = &cleaner{}
	n.view = &podsView{executor: t, history: n.journal.history}
	if config.Hooks.Timeline != nil {
		n.config.Recorder = timelineRecorder{n.journal, config.Recorder}
	}
	b := &builder{node: n}
	for _, build := range []func() error{b.buildDesired, b.buildObserved, b.buildDirectories, b.buildLogs, b.buildWork, b.buildCollectors, b.buildLoop} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Run runs the node until ctx ends and its last goroutine has ended, and
// returns nil then. Containers are left as they are: Drain first to end them.
// It returns early if a part fails, and with podworkers.ErrNotDrained or
// prober.ErrNotDrained if a runtime holds up a sync, or a check, for longer than
// Config.Sync.DrainTimeout; a moment later with ErrNotDrained if it holds up anything
// else. A second call returns runtime.ErrSecondRun.
func (n *Node) Run(ctx context.Context) error {
	if n.running.Swap(true) {
		return fmt.Errorf("node: %w", runtime.ErrSecondRun)
	}
	sent := n.startSender(ctx)
	ctx, cancel := executor.WithCancel(ctx)
	defer cancel()
	if err := n.runParts(ctx, cancel); err != nil {
		n.recordFailure(err)
	}
	sent()
	n.done.Open()
	return n.Err()
}

func (n *Node) recordFailure(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.err = errors.Join(n.mu.err, err)
}

// Name returns the Name of Config, which pods have in spec.nodeName.
func (n *Node) Name() string { return n.config.Name }

// Ready is closed once every source has delivered its pods, the runtime has answered and the first
// housekeeping has ended.
func (n *Node) Ready() <-chan struct{} { return n.ready.Done() }

// Done is closed when Run has ended.
func (n *Node) Done() <-chan struct{} { return n.done.Done() }

// Err returns the error that Run has returned. While Run comes to its end because a part has
// failed, Err returns the error of that part. Otherwise it is nil.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.err
}

// RequestSync requests a sync of a pod. The files of its volumes are updated even if its worker
// hangs. It never blocks.
func (n *Node) RequestSync(uid types.UID) {
	n.loop.RequestSync(uid)
	n.requestVolumeRefresh(uid)
}

// handleRelist is called after each listing of the runtime. The first one lets the loop begin. relisted requests
// housekeeping if the listing succeeded after a failure, because pods may have waited for the runtime, and
// until the node is ready, because an empty runtime causes no other housekeeping.
func (n *Node) handleRelist(r pleg.Relisting) {
	n.mu.Lock()
	recovered := r.Err == nil && !n.mu.seen
	n.mu.listed, n.mu.seen = true, r.Err == nil
	n.mu.Unlock()
	if recovered || !n.ready.Opened() {
		n.loop.RequestHousekeeping()
	}
}

// handleInspection is called after each inspection of a pod.
func (n *Node) handleInspection(i pleg.Inspection) {
	n.workers.Observed(i.UID, i.Err)
	if o, ok := n.syncer.(PodObserver); ok && i.Err == nil {
		if status, err := n.pleg.Get(i.UID); err == nil && status != nil {
			_ = n.guard.Call("NewSyncer.ObservePod", func() { o.ObservePod(status) })
		}
	}
	if n.logRotator != nil {
		n.logRotator.Changed()
	}
}

// isReadyToStart reports whether every source has delivered and the runtime was listed once. The loop begins
// even if that listing failed.
func (n *Node) isReadyToStart() bool {
	n.mu.Lock()
	listed := n.mu.listed
	n.mu.Unlock()
	return listed && n.sources.AllDelivered()
}

// handleHousekeeping is called after each housekeeping. It drops what is remembered of pods that the node does not
// know. The node is ready after the first housekeeping for which every source has delivered and the runtime
// has answered.
func (n *Node) handleHousekeeping(_ time.Duration, err error) {
	n.forgetPodsInSyncer()
	for _, uid := range n.journal.history.forgetUnknownPods(n.cleaner.isKnown) {
		n.journal.addToTimeline(uid, timeline.Record{Kind: timeline.KindGone})
	}
	n.sampler.forgetUnknownPods(n.cleaner.isKnownOrObserved)
	n.prober.CleanupPods(n.canProbe)
	n.feed.clearIfIdle(n.view)
	if err != nil || !n.sources.AllSeen() {
		return
	}
	n.cleaner.startDirectoryCleanup()
	if ok, _ := n.pleg.Healthy(); ok {
		n.ready.Open()
	}
}

// findRecordOwner returns the pod that the records of the runtime belong to under a UID, or else the pod
// that the volumes under the UID were made for: volumes outlive the records of a runtime that is
// reset. known is false if there is neither.
func (n *Node) findRecordOwner(uid types.UID) (owner types.NamespacedName, known bool) {
	seen, err := n.pleg.Get(uid)
	if err != nil || seen.Name == "" || len(seen.Sandboxes)+len(seen.Containers) == 0 {
		if v, ok := n.config.Volumes.Manager.(podsync.VolumeOwner); ok {
			return v.OwnerOf(uid)
		}
		return owner, false
	}
	return types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name}, true
}

// handleAcceptedStatus is called for each new status. The first one has the start time of the pod.
func (n *Node) handleAcceptedStatus(uid types.UID, version uint64) {
	n.deadlines.RequestUpdate(uid)
	n.journal.recordAcceptedStatus(uid, version)
}

func (n *Node) handlePhase(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
	n.journal.recordPhase(uid, phase)
	n.cleaner.recordOwnPod(uid)
	n.deadlines.RequestUpdate(uid)
	n.handlers.NotifyWorkerChange(uid)
	if phase == lifecycle.Finished {
		n.loop.RequestHousekeeping()
	}
	n.view.notifyWatchers(uid)
	n.config.Hooks.Workers.Phase(uid, incarnation, phase)
}

// recordSync is called after each sync. It updates the view even if the status has not changed, because the spec
// may have.
func (n *Node) handleSync(s podworkers.Synced) {
	n.journal.recordSync(s)
	n.view.notifyWatchers(s.UID)
	n.containerCollector.Changed(s.UID)
	n.config.Hooks.Workers.Synced(s)
}

func (n *Node) handleForgottenPod(uid types.UID) {
	n.cleaner.requestDirectoryCleanup()
	n.handlers.NotifyWorkerChange(uid)
	n.loop.RequestHousekeeping()
	n.view.notifyWatchers(uid)
	n.config.Hooks.Workers.Forgotten(uid)
}
