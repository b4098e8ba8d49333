package memory

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory/internal/files"
)

// Runtime is the view of one client process on an in-memory machine. The views that WithClock
// returns share the machine. Each has the clock on which its callers wait. When a simulated process
// crashes, the machine and its containers survive. All methods are safe for concurrent use.
type Runtime struct {
	m        *machine
	executor executor.Executor
	yield    func() error // nil in production; in a simulation it returns an error after a crash
}

var (
	_ runtime.Runtime         = (*Runtime)(nil)
	_ runtime.FeatureReporter = (*Runtime)(nil)
)

// New creates an empty, ready machine and returns the view of a client on the clock of the machine.
// It starts no goroutine.
func New(cfg Config) *Runtime {
	cfg.setDefaults()
	m := &machine{clock: cfg.Clock, log: cfg.Log, hooks: cfg.Hooks}
	m.mu.status = runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	m.mu.pods = map[types.UID]*pod{}
	m.mu.sandboxes = map[string]*sandbox{}
	m.mu.containers = map[string]*container{}
	m.mu.histories = map[types.UID]*podHistory{}
	m.mu.images = map[string]runtime.Image{}
	m.mu.pullErrors = map[string]error{}
	m.mu.usedIPs = map[uint16]bool{}
	for _, name := range cfg.Images {
		m.ensureImageLocked(name)
	}
	return m.newRuntime(cfg.Clock)
}

// WithClock returns a view whose calls wait on another clock: the clock of a process that may crash
// while the machine continues. The clock must show the same time as the clock of the machine.
func (r *Runtime) WithClock(clk clock.Clock) *Runtime { return r.m.newRuntime(clk) }

// Version implements runtime.Versioner.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	v, err := instrumentCall(ctx, r, "Version", nothing{}, func(*Runtime, context.Context, nothing) ([2]string, error) {
		return [2]string{"memory", "1"}, nil
	})
	return v[0], v[1], err
}

// Features implements runtime.FeatureReporter. Image mounts and strict groups are accepted without
// effect: the containers have no files of an image. The status of a container whose request has a user ID
// reports that user with the groups of the request.
func (r *Runtime) Features() runtime.Features {
	return runtime.Features{
		EventSource: r, StatusReporter: r, Versioner: r, HandlerRunner: r, Execer: r, ExecStreamer: r, LogReader: r, Attacher: r,
		PortForwarder: r, ImageFilesystem: r, StatsReader: r, Updater: r,
		ImageMounts: runtime.ImageMountsAll, StrictGroups: runtime.SupportFull,
	}
}

// RuntimeStatus implements runtime.StatusReporter. It returns the value of the last SetStatus.
func (r *Runtime) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return instrumentCall(ctx, r, "RuntimeStatus", nothing{}, (*Runtime).runtimeStatus)
}

// runtimeStatus returns the configured status of the runtime, even if that status is not ready.
func (r *Runtime) runtimeStatus(context.Context, nothing) (runtime.RuntimeStatus, error) {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	return r.m.mu.status, nil
}

// machine is the state that survives a client: the records, and the clock from which their states
// are computed.
type machine struct {
	clock      clock.PassiveClock
	log        *slog.Logger
	hooks      Hooks
	fileLimits files.Quota // of the files of all containers

	mu struct {
		sync.Mutex
		status        runtime.RuntimeStatus
		pods          map[types.UID]*pod
		sortedPods    []*pod // the values of pods, sorted by UID
		sandboxes     map[string]*sandbox
		containers    map[string]*container
		histories     map[types.UID]*podHistory
		historyOrder  []types.UID // the keys of histories, oldest first
		changes       changeHeap
		images        map[string]runtime.Image // by name with tag or digest
		imageDisk     runtime.FilesystemUsage  // without the images
		pullErrors    map[string]error
		scriptRules   []scriptRule
		recentSpecs   recentValues[containerSpec]
		recentRuns    recentValues[Run]
		answerRules   []answerRule
		commandRules  []commandRule
		usedIPs       map[uint16]bool
		cachedList    []runtime.Pod // the last result of ListPods
		listIsCurrent bool          // nothing has changed since cachedList was built
		eventStreams  []*eventStream
		toSignal      []executor.Event // unlock signals them
	}
}

// podHistory counts the IDs, starts and handler calls of a UID. It survives the removal of the
// pod's records: a script continues with its next run when the pod gets a new sandbox.
type podHistory struct {
	idsMade      int
	starts       []startCount
	handlerCalls map[handlerKey]int // nil: no calls
}

// startCount is the number of starts of the containers of a name.
type startCount struct {
	container string
	starts    int
}

// findStartCount returns a pointer to the start count of a container, or nil if the container has none.
func (p *podHistory) findStartCount(container string) *startCount {
	for i := range p.starts {
		if p.starts[i].container == container {
			return &p.starts[i]
		}
	}
	return nil
}

// ensureStartCount returns a pointer to the number of starts of a container. If there is none, it adds one that
// is zero.
func (p *podHistory) ensureStartCount(container string) *int {
	if c := p.findStartCount(container); c != nil {
		return &c.starts
	}
	p.starts = append(p.starts, startCount{container: container})
	return &p.starts[len(p.starts)-1].starts
}

// countHandlerCall increments the number of RunHandler calls for a container and purpose.
func (p *podHistory) countHandlerCall(q handlerKey) {
	if p.handlerCalls == nil {
		p.handlerCalls = map[handlerKey]int{}
	}
	p.handlerCalls[q]++
}

// minKeptHistories is how many UIDs without records keep their history at least.
const minKeptHistories = 10_000

// ensureHistoryAndPruneOldLocked returns the history of a pod UID: its numbers of starts, handler calls and
// IDs. If the UID has none, ensureHistoryAndPruneOldLocked first prunes old histories and then adds an empty
// one.
func (m *machine) ensureHistoryAndPruneOldLocked(uid types.UID) *podHistory {
	p := m.mu.histories[uid]
	if p == nil {
		m.pruneOldHistoriesLocked()
		p = &podHistory{}
		m.mu.histories[uid] = p
		m.mu.historyOrder = append(m.mu.historyOrder, uid)
	}
	return p
}

// pruneOldHistoriesLocked bounds the memory of a long simulation. When there are twice as many histories as
// minKeptHistories plus the number of pods, it deletes the histories of pods that no longer exist. The newest
// minKeptHistories always stay.
func (m *machine) pruneOldHistoriesLocked() {
	if len(m.mu.historyOrder) < 2*(minKeptHistories+len(m.mu.pods)) {
		return
	}
	kept := m.mu.historyOrder[:0]
	for i, uid := range m.mu.historyOrder {
		if m.mu.pods[uid] == nil && i < len(m.mu.historyOrder)-minKeptHistories {
			delete(m.mu.histories, uid)
			continue
		}
		kept = append(kept, uid)
	}
	m.mu.historyOrder = kept
}

// newRuntime returns a Runtime that shares the state of the simulated machine. Its calls wait with clk.
func (m *machine) newRuntime(clk clock.Clock) *Runtime {
	r := &Runtime{m: m, executor: executor.Over(clk)}
	if y, ok := r.executor.(interface{ Yield() error }); ok {
		r.yield = y.Yield
	}
	return r
}

// lockAndPublish locks the simulated machine, publishes all container state changes that are due (sends their
// events and discards cached lists), and returns the current time.
func (m *machine) lockAndPublish() time.Time {
	m.mu.Lock()
	now := m.clock.Now()
	m.publishDueChangesLocked(now)
	return now
}

// lockIfReady locks the simulated machine, publishes all container state changes that are due, as
// lockAndPublish does, and returns the current time. If the runtime is not ready, it unlocks the machine and
// returns ErrNotReady.
func (m *machine) lockIfReady() (time.Time, error) {
	now := m.lockAndPublish()
	if s := m.mu.status; !s.RuntimeReady {
		m.unlockAndSignal()
		return now, fmt.Errorf("memory: %w: %s", runtime.ErrNotReady, s.RuntimeMessage)
	}
	return now, nil
}

// unlockAndSignal unlocks the simulated machine and then signals all events that were collected in toSignal
// while it was locked.
func (m *machine) unlockAndSignal() {
	wake := m.mu.toSignal
	m.mu.toSignal = nil
	m.mu.Unlock()
	for _, e := range wake {
		e.Signal()
	}
}

// publishDueChangesLocked publishes every container state change that is due by now (sends its event and
// discards cached lists), and schedules the next change of each such container.
func (m *machine) publishDueChangesLocked(now time.Time) {
	for len(m.mu.changes) > 0 && !m.mu.changes[0].nextChange.After(now) {
		c := m.mu.changes[0]
		m.publishChangeLocked(c.pod, c, c.nextChange)
		m.scheduleChangeAndSignalLocked(c, now)
	}
}

// scheduleChangeAndSignalLocked schedules the next state change of c in the heap of all changes, or removes it.
// At unlock, the waiters of c and all event streams are signalled. Callers call it after every change of c.
func (m *machine) scheduleChangeAndSignalLocked(c *container, now time.Time) {
	at := c.nextStateChange(now)
	switch {
	case c.nextChange.IsZero() && !at.IsZero():
		c.nextChange = at
		heap.Push(&m.mu.changes, c)
	case at.IsZero() && !c.nextChange.IsZero():
		c.nextChange = at
		heap.Remove(&m.mu.changes, c.heapIndex)
	case !at.IsZero():
		c.nextChange = at
		heap.Fix(&m.mu.changes, c.heapIndex)
	}
	if c.extras != nil {
		m.mu.toSignal = append(m.mu.toSignal, c.extras.waiters...)
	}
	for _, s := range m.mu.eventStreams {
		m.mu.toSignal = append(m.mu.toSignal, s.changed)
	}
}

// publishChangeLocked invalidates the cached results of ListPods and PodStatus for a pod, and adds an event to
// all event streams. c is nil if the sandbox changed.
func (m *machine) publishChangeLocked(p *pod, c *container, at time.Time) {
	p.cachedList, p.cachedStatus = listCache{}, nil
	m.mu.listIsCurrent = false
	e := runtime.Event{UID: p.ref.UID, At: at}
	if c != nil {
		e.ContainerID = c.id
	}
	for _, s := range m.mu.eventStreams {
		s.pending = append(s.pending, e)
		m.mu.toSignal = append(m.mu.toSignal, s.changed)
	}
}

// nothing is the request or result of a method that has none.
type nothing struct{}

// instrumentCall runs one method of the runtime interfaces, then calls the hooks and writes the debug log. A
// simulation may crash the caller before the method. It may also crash the caller after the method, so that the
// caller does not get the result. method is a method expression because a method value would be allocated.
func instrumentCall[Q, R any](ctx context.Context, r *Runtime, name string, req Q, method func(*Runtime, context.Context, Q) (R, error)) (R, error) {
	began := r.m.clock.Now()
	var res R
	err := r.yieldAndCheckCrash()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		res, err = method(r, ctx, req)
		if lost := r.yieldAndCheckCrash(); lost != nil {
			var none R
			res, err = none, lost
		}
	}
	if r.m.hooks.Call != nil {
		r.m.hooks.Call(Call{name, nilIfNothing(req), nilIfNothing(res), err, began, r.m.clock.Now()})
	}
	if r.m.hooks.CallContext != nil {
		r.m.hooks.CallContext(ctx, Call{name, nilIfNothing(req), nilIfNothing(res), err, began, r.m.clock.Now()})
	}
	if r.m.log.Enabled(ctx, slog.LevelDebug) {
		r.m.log.DebugContext(ctx, "Runtime call", "verb", name, "request", nilIfNothing(req), "err", err)
	}
	return res, err
}

// yieldAndCheckCrash lets other simulated processes run, and returns an error if the calling process has
// crashed. Outside a simulation it returns nil.
func (r *Runtime) yieldAndCheckCrash() error {
	if r.yield == nil {
		return nil
	}
	return r.yield()
}

// nilIfNothing returns nil if v is of type nothing (an empty request or result), and v for any other type.
func nilIfNothing(v any) any {
	if _, ok := v.(nothing); ok {
		return nil
	}
	return v
}

// waitWhileState waits until a container leaves a state or is removed. It returns an error only if ctx ends
// first.
func (r *Runtime) waitWhileState(ctx context.Context, c *container, state runtime.State) error {
	_, err := r.waitWhileStateUntil(ctx, c, state, time.Time{})
	return err
}

// waitWhileStateUntil waits until a container leaves a state, is removed, or a deadline passes. A zero deadline
// is no deadline. It returns true if the container stayed in the state until the deadline. It returns false if
// the container leaves the state at the deadline.
func (r *Runtime) waitWhileStateUntil(ctx context.Context, c *container, state runtime.State, deadline time.Time) (stayed bool, err error) {
	changed := r.executor.NewEvent()
	r.m.lockAndPublish()
	used := c.ensureExtras()
	used.waiters = append(used.waiters, changed)
	r.m.unlockAndSignal()
	defer r.m.removeWaiterAndUnusedExtras(c, changed)
	for {
		now := r.m.lockAndPublish()
		over := c.removed || c.state(now) != state
		next := c.nextChange
		r.m.unlockAndSignal()
		switch {
		case over:
			return false, nil
		case !deadline.IsZero() && !deadline.After(now):
			return true, nil
		case !deadline.IsZero() && (next.IsZero() || deadline.Before(next)):
			next = deadline
		}
		if err := waitForEvent(ctx, changed, next); err != nil {
			return false, err
		}
	}
}

// removeWaiterAndUnusedExtras removes an event from the waiters of a container. It also frees the container's
// extras (log lines, files, attach session) if they are unused.
func (m *machine) removeWaiterAndUnusedExtras(c *container, e executor.Event) {
	m.lockAndPublish()
	defer m.unlockAndSignal()
	used := c.ensureExtras()
	used.waiters = slices.DeleteFunc(slices.Clone(used.waiters), func(w executor.Event) bool { return w == e })
	c.freeUnusedExtras()
}

// waitForEvent waits until e is signalled or the deadline passes; zero is no deadline. It returns an error only
// if ctx ends first.
func waitForEvent(ctx context.Context, e executor.Event, deadline time.Time) error {
	if deadline.IsZero() {
		return e.Wait(ctx)
	}
	_, err := e.WaitUntil(ctx, deadline)
	return err
}
