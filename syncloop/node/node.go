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
	"github.com/podkeel/podkeel/syncloop/eviction/evictor"
	"github.com/podkeel/podkeel/syncloop/gc"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Node is every part of this library put together. Its methods are safe for concurrent use.
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
	feed     *feed // serves List and WatchFrom

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
	logs               *logfiles.Dir       // nil: no directory for logs is configured
	states             *containerStates    // nil: states of containers are not stored
	statuses           *terminalStatuses   // nil: terminal statuses are not stored
	allocated          *allocatedResources // nil: allocated resources are not stored
	logRotator         *gc.Logs            // nil: no log is rotated
	cgroups            *podCgroups         // nil: the runtime chooses the cgroups
	enforcer           *totalLimits        // nil: nothing limits all pods together
	sampler            *sampler
	evictor            *evictor.Evictor  // nil: the node evicts no pod by itself
	annotated          annotatedRecorder // nil: events have no annotations

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

// Errors of calls that need a running node.
var (
	// ErrNotRunning is returned by Drain before Run: the node does not know yet which pods run.
	ErrNotRunning = errors.New("node: Run has not been called")
	// ErrStopped is returned by methods of a node whose Run has returned.
	ErrStopped = errors.New("node: Run has ended")
)

// New makes a node. It starts nothing: Run does. If the Config is invalid, the error lists every fault.
func New(config Config) (*Node, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	if config.Runtime == nil {
		config.Runtime = memory.New(memory.Config{Clock: config.Clock})
		config.setInMemoryVolumesIfUnset()
	}
	annotated, _ := config.Recorder.(annotatedRecorder)
	guard := config.wrapFunctionsAgainstPanics()
	n := &Node{config: config, guard: guard, runtime: contain.NewRuntime(guard, config.Runtime), executor: t, feed: &feed{}, sampler: newSampler(t.Now()), ready: t.NewLatch(), done: t.NewLatch()}
	n.journal = &journal{config: &n.config, executor: t, history: newHistoryStore()}
	n.cleaner, n.annotated = &cleaner{}, annotated
	n.view = &podsView{executor: t, history: n.journal.history}
	if config.Hooks.Timeline != nil {
		n.config.Recorder = timelineRecorder{n.journal, config.Recorder}
	}
	b := &builder{node: n}
	for _, build := range []func() error{b.buildSourcesAndStatusStore, b.buildPLEG, b.buildFileStoresAndCollectors, b.buildLogRotatorIfEnabled, b.buildSyncerAndWorkers, b.buildCollectors, b.buildEvictorIfConfigured, b.buildLoop} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Run runs the node until ctx ends and the last goroutine of the node has returned. It then returns
// nil. Run leaves the containers running; call Drain first to stop them. A second call returns
// runtime.ErrSecondRun.
//
// Run returns early, with the error, if a part of the node fails. If the runtime blocks a sync or a
// probe for longer than Config.Sync.DrainTimeout after the end of ctx, Run returns
// podworkers.ErrNotDrained or prober.ErrNotDrained. If the runtime blocks any other part, Run returns
// ErrNotDrained a few seconds later.
func (n *Node) Run(ctx context.Context) error {
	if n.running.Swap(true) {
		return fmt.Errorf("node: %w", runtime.ErrSecondRun)
	}
	sent := n.startDetachedSenderIfAny(ctx)
	ctx, cancel := executor.WithCancel(ctx)
	defer cancel()
	if err := n.runParts(ctx, cancel); err != nil {
		n.addRunError(err)
	}
	sent()
	n.done.Open()
	return n.Err()
}

// addRunError adds an error to the errors that Err and Run return.
func (n *Node) addRunError(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.err = errors.Join(n.mu.err, err)
}

// Name returns Config.Name in lower case. Pods have it in spec.nodeName.
func (n *Node) Name() string { return n.config.Name }

// Ready returns a channel that is closed when every source has delivered its pods, the runtime has
// answered a listing, and the first housekeeping after that has finished.
func (n *Node) Ready() <-chan struct{} { return n.ready.Done() }

// Done returns a channel that is closed when Run has returned.
func (n *Node) Done() <-chan struct{} { return n.done.Done() }

// Err returns the error that Run has returned. While Run is still stopping because a part has failed,
// Err returns the error of that part. Otherwise it returns nil.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.err
}

// RequestSync requests a sync of a pod. It also requests an update of the files in the volumes of the
// pod, which happens even if a call for the pod hangs. It never blocks.
func (n *Node) RequestSync(uid types.UID) {
	n.loop.RequestSync(uid)
	n.requestVolumeRefresh(uid)
}

// recordRelistAndRequestHousekeeping stores that the runtime was listed, which the loop waits for before it
// starts, and whether the listing succeeded. It requests housekeeping if this listing succeeded after a failed
// one, and after each listing until the node is ready.
func (n *Node) recordRelistAndRequestHousekeeping(r pleg.Relisting) {
	n.mu.Lock()
	recovered := r.Err == nil && !n.mu.seen
	n.mu.listed, n.mu.seen = true, r.Err == nil
	n.mu.Unlock()
	if recovered || !n.ready.Opened() {
		n.loop.RequestHousekeeping()
	}
}

// passInspectionToWorkerSyncerAndRotator wakes the worker of an inspected pod and the log rotator. If the
// inspection succeeded and the PodSyncer is a PodObserver, it also passes the observed status to the PodSyncer.
func (n *Node) passInspectionToWorkerSyncerAndRotator(i pleg.Inspection) {
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

// isReadyToStart reports whether the sync loop may start: every source has delivered once, and the PLEG has
// tried to list the runtime once.
func (n *Node) isReadyToStart() bool {
	n.mu.Lock()
	listed := n.mu.listed
	n.mu.Unlock()
	return listed && n.sources.AllDelivered()
}

// cleanUpAfterHousekeeping deletes what the node stores about unknown pods and stops their probes. If the
// housekeeping succeeded and every source has delivered, it also starts the cleanup of directories. If the
// runtime can then be listed too, the node becomes ready.
func (n *Node) cleanUpAfterHousekeeping(_ time.Duration, err error) {
	n.forgetPodsInSyncer()
	for _, uid := range n.journal.history.forgetUnknownPods(n.cleaner.isDesiredOrHasWorker) {
		n.journal.addToTimeline(uid, timeline.Record{Kind: timeline.KindGone})
	}
	n.sampler.forgetUnknownPods(n.cleaner.hasWorkerOrRuntimeRecords)
	n.prober.CleanupPods(n.mayHaveRunningContainers)
	n.feed.clearIfIdle(n.view)
	if err != nil || !n.sources.AllSeen() {
		return
	}
	n.cleaner.startDirectoryCleanupIfNeeded()
	if ok, _ := n.pleg.Healthy(); ok {
		n.ready.Open()
	}
}

// findOwnerOfRecordsOrVolumes returns the name of the pod to which the sandboxes and containers under a UID
// belong. If the runtime has none, it returns the owner of the volumes under the UID, because volumes stay when
// a runtime is reset. known is false if no owner is found.
func (n *Node) findOwnerOfRecordsOrVolumes(uid types.UID) (owner types.NamespacedName, known bool) {
	seen, err := n.pleg.Get(uid)
	if err != nil || seen.Name == "" || len(seen.Sandboxes)+len(seen.Containers) == 0 {
		if v, ok := n.config.Volumes.Manager.(podsync.VolumeOwner); ok {
			return v.OwnerOf(uid)
		}
		return owner, false
	}
	return types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name}, true
}

// requestDeadlineUpdateAndRecordStatus requests an update of the pod's active deadline, which depends on the
// start time in the status. It also records the new status in the journal.
func (n *Node) requestDeadlineUpdateAndRecordStatus(uid types.UID, version uint64) {
	n.deadlines.RequestUpdate(uid)
	n.journal.addAcceptedStatusAndCallHook(uid, version)
}

// recordPhaseAndNotify records the new phase of a pod's worker and that the pod had a worker. It notifies the
// deadlines, the handlers of the loop, the watchers, the evictor and the hook. For the phase Finished it also
// requests housekeeping.
func (n *Node) recordPhaseAndNotify(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
	n.journal.recordPhaseAndClearFinished(uid, phase)
	n.cleaner.recordHadWorkerOrForgetAllIfGraceOver(uid)
	n.deadlines.RequestUpdate(uid)
	n.handlers.NotifyWorkerChange(uid)
	if phase == lifecycle.Finished {
		n.loop.RequestHousekeeping()
	}
	n.view.notifyWatchers(uid)
	n.notifyEvictorIfFinished(uid, phase)
	n.config.Hooks.Workers.Phase(uid, incarnation, phase)
}

// recordSyncAndNotify records the result of a sync, and notifies the watchers, the collector of containers and
// the hook. It notifies the watchers even if the status has not changed, because the spec may have changed.
func (n *Node) recordSyncAndNotify(s podworkers.Synced) {
	n.journal.storeLastSyncAndRecordFailure(s)
	n.view.notifyWatchers(s.UID)
	n.containerCollector.Changed(s.UID)
	n.config.Hooks.Workers.Synced(s)
}

// requestCleanupAndNotifyHandlersWatchersHook requests housekeeping and a cleanup of directories after the
// workers have deleted their record of a pod. It also notifies the handlers of the loop and the watchers, and
// calls Hooks.Workers.Forgotten.
func (n *Node) requestCleanupAndNotifyHandlersWatchersHook(uid types.UID) {
	n.cleaner.requestDirectoryCleanup()
	n.handlers.NotifyWorkerChange(uid)
	n.loop.RequestHousekeeping()
	n.view.notifyWatchers(uid)
	n.config.Hooks.Workers.Forgotten(uid)
}
