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

// Runtime is one client's view of a machine in memory. Views made by On share
// everything but the clock on which their callers wait, so that the machine
// survives the clients. All methods are safe for concurrent use.
type Runtime struct {
	m        *machine
	executor executor.Executor
	yield    func() error // nil in production, where nobody needs to be let in
}

var (
	_ runtime.Runtime         = (*Runtime)(nil)
	_ runtime.FeatureReporter = (*Runtime)(nil)
)

// New makes an empty, ready machine and returns the view of a client on the
// machine's own clock. It starts nothing.
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
		m.addImageLocked(name)
	}
	return m.newRuntime(cfg.Clock)
}

// WithClock returns a view whose calls wait through another clock: that of a process
// that may crash while the machine goes on. It must tell the same time as the
// machine's clock.
func (r *Runtime) WithClock(clk clock.Clock) *Runtime { return r.m.newRuntime(clk) }

// Version implements runtime.Versioner.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	v, err := instrumentCall(ctx, r, "Version", nothing{}, func(*Runtime, context.Context, nothing) ([2]string, error) {
		return [2]string{"memory", "1"}, nil
	})
	return v[0], v[1], err
}

// Features implements runtime.FeatureReporter. Images are mounted, but containers have no files of them,
// and no users and groups.
func (r *Runtime) Features() runtime.Features {
	return runtime.Features{
		EventSource: r, StatusReporter: r, Versioner: r, HandlerRunner: r, Execer: r, ExecStreamer: r, LogReader: r, Attacher: r,
		PortForwarder: r, ImageFilesystem: r, StatsReader: r, Updater: r,
		ImageMounts: runtime.ImageMountsAll, StrictGroups: runtime.SupportFull,
	}
}

// RuntimeStatus implements runtime.StatusReporter: what SetStatus last said.
func (r *Runtime) RuntimeStatus(ctx context.Context) (runtime.RuntimeStatus, error) {
	return instrumentCall(ctx, r, "RuntimeStatus", nothing{}, (*Runtime).runtimeStatus)
}

func (r *Runtime) runtimeStatus(context.Context, nothing) (runtime.RuntimeStatus, error) {
	r.m.lock()
	defer r.m.unlock()
	return r.m.mu.status, nil
}

// machine is what outlives the clients: the records, and the one clock by
// which their states are computed.
type machine struct {
	clock      clock.PassiveClock
	log        *slog.Logger
	hooks      Hooks
	fileLimits files.Room // of the files of all containers

	mu struct {
		sync.Mutex
		status        runtime.RuntimeStatus
		pods          map[types.UID]*pod
		sortedPods    []*pod // the same, by UID
		sandboxes     map[string]*sandbox
		containers    map[string]*container
		histories     map[types.UID]*podHistory
		historyOrder  []types.UID // the keys of past, oldest first
		changes       changeHeap
		images        map[string]runtime.Image // by normal name
		imageDisk     runtime.FilesystemUsage  // without the images
		pullErrors    map[string]error
		scriptRules   []scriptRule
		recentSpecs   recentValues[containerSpec]
		recentRuns    recentValues[Run]
		answerRules   []answerRule
		commandRules  []commandRule
		usedIPs       map[uint16]bool
		cachedList    []runtime.Pod // what ListPods last returned
		listIsCurrent bool          // nothing has changed since
		eventStreams  []*eventStream
		toSignal      []executor.Event // to be signalled at unlock
	}
}

// histories is what is remembered of a UID when its records are gone.
type podHistory struct {
	idsMade      int // IDs given out
	starts       []startCount
	handlerCalls map[handlerKey]int // nil: nothing
}

// startCount is how many starts of a container there were.
type startCount struct {
	container string
	starts    int
}

// findStartCount is the count of a container, or nil.
func (p *podHistory) findStartCount(container string) *startCount {
	for i := range p.starts {
		if p.starts[i].container == container {
			return &p.starts[i]
		}
	}
	return nil
}

// ensureStartCount is the count of a container, which it begins if there is none.
func (p *podHistory) ensureStartCount(container string) *int {
	if c := p.findStartCount(container); c != nil {
		return &c.starts
	}
	p.starts = append(p.starts, startCount{container: container})
	return &p.starts[len(p.starts)-1].starts
}

// countHandlerCall counts a question.
func (p *podHistory) countHandlerCall(q handlerKey) {
	if p.handlerCalls == nil {
		p.handlerCalls = map[handlerKey]int{}
	}
	p.handlerCalls[q]++
}

// minKeptHistories is of how many UIDs without records that is at least.
const minKeptHistories = 10_000

// ensureHistoryLocked finds the past of a UID or begins one.
func (m *machine) ensureHistoryLocked(uid types.UID) *podHistory {
	p := m.mu.histories[uid]
	if p == nil {
		m.pruneHistoriesLocked()
		p = &podHistory{}
		m.mu.histories[uid] = p
		m.mu.historyOrder = append(m.mu.historyOrder, uid)
	}
	return p
}

// pruneHistoriesLocked keeps a machine on which pods come and go for ever from growing
// for ever: once there are twice as many as are kept it drops the oldest.
func (m *machine) pruneHistoriesLocked() {
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

func (m *machine) newRuntime(clk clock.Clock) *Runtime {
	r := &Runtime{m: m, executor: executor.Over(clk)}
	if y, ok := r.executor.(interface{ Yield() error }); ok {
		r.yield = y.Yield
	}
	return r
}

// lock locks the machine and brings what it has published up to now.
func (m *machine) lock() time.Time {
	m.mu.Lock()
	now := m.clock.Now()
	m.publishDueChangesLocked(now)
	return now
}

// lockIfReady is lock for the verbs that a runtime which is down cannot do.
func (m *machine) lockIfReady() (time.Time, error) {
	now := m.lock()
	if s := m.mu.status; !s.RuntimeReady {
		m.unlock()
		return now, fmt.Errorf("memory: %w: %s", runtime.ErrNotReady, s.RuntimeMessage)
	}
	return now, nil
}

// unlock unlocks the machine and only then wakes who waits for what changed.
func (m *machine) unlock() {
	wake := m.mu.toSignal
	m.mu.toSignal = nil
	m.mu.Unlock()
	for _, e := range wake {
		e.Signal()
	}
}

// publishDueChangesLocked publishes every change of state that time has brought by now.
func (m *machine) publishDueChangesLocked(now time.Time) {
	for len(m.mu.changes) > 0 && !m.mu.changes[0].nextChange.After(now) {
		c := m.mu.changes[0]
		m.publishChangeLocked(c.pod, c, c.nextChange)
		m.scheduleChangeLocked(c, now)
	}
}

// scheduleChangeLocked puts c into the heap at the time of its next change of state. It
// is called whenever that may have moved, which is also whenever c has changed
// in a way that somebody may wait for.
func (m *machine) scheduleChangeLocked(c *container, now time.Time) {
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

// publishChangeLocked makes a change of a pod's records visible. c is nil if it is
// the sandbox that changed.
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

// nothing is the request or result of a verb that has none.
type nothing struct{}

// instrumentCall is the frame of every call: a crash can be placed before it and, with
// the effect done and the reply lost, after it; and it is observed. What it
// does is a method expression: a method value would be an allocation.
func instrumentCall[Q, R any](ctx context.Context, r *Runtime, name string, req Q, method func(*Runtime, context.Context, Q) (R, error)) (R, error) {
	began := r.m.clock.Now()
	var res R
	err := r.checkCrash()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		res, err = method(r, ctx, req)
		if lost := r.checkCrash(); lost != nil {
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

func (r *Runtime) checkCrash() error {
	if r.yield == nil {
		return nil
	}
	return r.yield()
}

func nilIfNothing(v any) any {
	if _, ok := v.(nothing); ok {
		return nil
	}
	return v
}

// waitWhileState waits, through the seam of the caller, while c is in the given state.
func (r *Runtime) waitWhileState(ctx context.Context, c *container, state runtime.State) error {
	_, err := r.waitWhileStateUntil(ctx, c, state, time.Time{})
	return err
}

// waitWhileStateUntil is await up to a time, if one is given. It reports whether c was
// in that state all the time; of a change at that very time c wins.
func (r *Runtime) waitWhileStateUntil(ctx context.Context, c *container, state runtime.State, deadline time.Time) (bool, error) {
	changed := r.executor.NewEvent()
	r.m.lock()
	used := c.ensureExtras()
	used.waiters = append(used.waiters, changed)
	r.m.unlock()
	defer r.m.removeWaiter(c, changed)
	for {
		now := r.m.lock()
		over := c.removed || c.state(now) != state
		next := c.nextChange
		r.m.unlock()
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

func (m *machine) removeWaiter(c *container, e executor.Event) {
	m.lock()
	defer m.unlock()
	used := c.ensureExtras()
	used.waiters = slices.DeleteFunc(slices.Clone(used.waiters), func(w executor.Event) bool { return w == e })
	if len(used.waiters) == 0 && used.lines == nil && used.attachLogBytes == 0 && used.files == nil && used.session == nil {
		c.extras = nil
	}
}

// waitForEvent waits for e, and until a time if there is one.
func waitForEvent(ctx context.Context, e executor.Event, deadline time.Time) error {
	if deadline.IsZero() {
		return e.Wait(ctx)
	}
	_, err := e.WaitUntil(ctx, deadline)
	return err
}
