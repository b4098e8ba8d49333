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
	cfg.complete()
	m := &machine{clock: cfg.Clock, log: cfg.Log, hooks: cfg.Hooks}
	m.mu.status = runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
	m.mu.pods = map[types.UID]*pod{}
	m.mu.sandboxes = map[string]*sandbox{}
	m.mu.containers = map[string]*container{}
	m.mu.past = map[types.UID]*past{}
	m.mu.images = map[string]runtime.Image{}
	m.mu.noPull = map[string]error{}
	m.mu.ips = map[uint16]bool{}
	for _, name := range cfg.Images {
		m.addImageLocked(name)
	}
	return m.view(cfg.Clock)
}

// On returns a view whose calls wait through another clock: that of a process
// that may crash while the machine goes on. It must tell the same time as the
// machine's clock.
func (r *Runtime) On(clk clock.Clock) *Runtime { return r.m.view(clk) }

// Version implements runtime.Versioner.
func (r *Runtime) Version(ctx context.Context) (name, version string, err error) {
	v, err := verb(ctx, r, "Version", nothing{}, func(*Runtime, context.Context, nothing) ([2]string, error) {
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
	return verb(ctx, r, "RuntimeStatus", nothing{}, (*Runtime).runtimeStatus)
}

func (r *Runtime) runtimeStatus(context.Context, nothing) (runtime.RuntimeStatus, error) {
	r.m.lock()
	defer r.m.unlock()
	return r.m.mu.status, nil
}

// machine is what outlives the clients: the records, and the one clock by
// which their states are computed.
type machine struct {
	clock clock.PassiveClock
	log   *slog.Logger
	hooks Hooks
	room  files.Room // of the files of all containers

	mu struct {
		sync.Mutex
		status     runtime.RuntimeStatus
		pods       map[types.UID]*pod
		order      []*pod // the same, by UID
		sandboxes  map[string]*sandbox
		containers map[string]*container
		past       map[types.UID]*past
		seen       []types.UID // the keys of past, oldest first
		next       transitions
		images     map[string]runtime.Image // by normal name
		disk       runtime.FilesystemUsage  // without the images
		noPull     map[string]error
		scripts    []assigned
		specs      recent[spec]
		runs       recent[Run]
		replies    []reply
		commands   []ownCommand
		ips        map[uint16]bool
		list       []runtime.Pod // what ListPods last returned
		fresh      bool          // nothing has changed since
		streams    []*stream
		wake       []executor.Event // to be signalled at unlock
	}
}

// past is what is remembered of a UID when its records are gone.
type past struct {
	made   int // IDs given out
	starts []count
	asked  map[question]int // nil: nothing
}

// count is how many starts of a container there were.
type count struct {
	container string
	starts    int
}

// counted is the count of a container, or nil.
func (p *past) counted(container string) *count {
	for i := range p.starts {
		if p.starts[i].container == container {
			return &p.starts[i]
		}
	}
	return nil
}

// startsOf is the count of a container, which it begins if there is none.
func (p *past) startsOf(container string) *int {
	if c := p.counted(container); c != nil {
		return &c.starts
	}
	p.starts = append(p.starts, count{container: container})
	return &p.starts[len(p.starts)-1].starts
}

// ask counts a question.
func (p *past) ask(q question) {
	if p.asked == nil {
		p.asked = map[question]int{}
	}
	p.asked[q]++
}

// maxPast is of how many UIDs without records that is at least.
const maxPast = 10_000

// pastLocked finds the past of a UID or begins one.
func (m *machine) pastLocked(uid types.UID) *past {
	p := m.mu.past[uid]
	if p == nil {
		m.forgetLocked()
		p = &past{}
		m.mu.past[uid] = p
		m.mu.seen = append(m.mu.seen, uid)
	}
	return p
}

// forgetLocked keeps a machine on which pods come and go for ever from growing
// for ever: once there are twice as many as are kept it drops the oldest.
func (m *machine) forgetLocked() {
	if len(m.mu.seen) < 2*(maxPast+len(m.mu.pods)) {
		return
	}
	kept := m.mu.seen[:0]
	for i, uid := range m.mu.seen {
		if m.mu.pods[uid] == nil && i < len(m.mu.seen)-maxPast {
			delete(m.mu.past, uid)
			continue
		}
		kept = append(kept, uid)
	}
	m.mu.seen = kept
}

func (m *machine) view(clk clock.Clock) *Runtime {
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
	m.publishLocked(now)
	return now
}

// lockReady is lock for the verbs that a runtime which is down cannot do.
func (m *machine) lockReady() (time.Time, error) {
	now := m.lock()
	if s := m.mu.status; !s.RuntimeReady {
		m.unlock()
		return now, fmt.Errorf("memory: %w: %s", runtime.ErrNotReady, s.RuntimeMessage)
	}
	return now, nil
}

// unlock unlocks the machine and only then wakes who waits for what changed.
func (m *machine) unlock() {
	wake := m.mu.wake
	m.mu.wake = nil
	m.mu.Unlock()
	for _, e := range wake {
		e.Signal()
	}
}

// publishLocked publishes every change of state that time has brought by now.
func (m *machine) publishLocked(now time.Time) {
	for len(m.mu.next) > 0 && !m.mu.next[0].next.After(now) {
		c := m.mu.next[0]
		m.changedLocked(c.pod, c, c.next)
		m.planLocked(c, now)
	}
}

// planLocked puts c into the heap at the time of its next change of state. It
// is called whenever that may have moved, which is also whenever c has changed
// in a way that somebody may wait for.
func (m *machine) planLocked(c *container, now time.Time) {
	at := c.change(now)
	switch {
	case c.next.IsZero() && !at.IsZero():
		c.next = at
		heap.Push(&m.mu.next, c)
	case at.IsZero() && !c.next.IsZero():
		c.next = at
		heap.Remove(&m.mu.next, c.index)
	case !at.IsZero():
		c.next = at
		heap.Fix(&m.mu.next, c.index)
	}
	if c.used != nil {
		m.mu.wake = append(m.mu.wake, c.used.waiters...)
	}
	for _, s := range m.mu.streams {
		m.mu.wake = append(m.mu.wake, s.wake)
	}
}

// changedLocked makes a change of a pod's records visible. c is nil if it is
// the sandbox that changed.
func (m *machine) changedLocked(p *pod, c *container, at time.Time) {
	p.shown, p.status = shown{}, nil
	m.mu.fresh = false
	e := runtime.Event{UID: p.ref.UID, At: at}
	if c != nil {
		e.ContainerID = c.id
	}
	for _, s := range m.mu.streams {
		s.pending = append(s.pending, e)
		m.mu.wake = append(m.mu.wake, s.wake)
	}
}

// nothing is the request or result of a verb that has none.
type nothing struct{}

// verb is the frame of every call: a crash can be placed before it and, with
// the effect done and the reply lost, after it; and it is observed. What it
// does is a method expression: a method value would be an allocation.
func verb[Q, R any](ctx context.Context, r *Runtime, name string, req Q, do func(*Runtime, context.Context, Q) (R, error)) (R, error) {
	began := r.m.clock.Now()
	var res R
	err := r.crashPoint()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		res, err = do(r, ctx, req)
		if lost := r.crashPoint(); lost != nil {
			var none R
			res, err = none, lost
		}
	}
	if r.m.hooks.Call != nil {
		r.m.hooks.Call(Call{name, orNil(req), orNil(res), err, began, r.m.clock.Now()})
	}
	if r.m.hooks.CallContext != nil {
		r.m.hooks.CallContext(ctx, Call{name, orNil(req), orNil(res), err, began, r.m.clock.Now()})
	}
	if r.m.log.Enabled(ctx, slog.LevelDebug) {
		r.m.log.DebugContext(ctx, "Runtime call", "verb", name, "request", orNil(req), "err", err)
	}
	return res, err
}

func (r *Runtime) crashPoint() error {
	if r.yield == nil {
		return nil
	}
	return r.yield()
}

func orNil(v any) any {
	if _, ok := v.(nothing); ok {
		return nil
	}
	return v
}

// await waits, through the seam of the caller, while c is in the given state.
func (r *Runtime) await(ctx context.Context, c *container, while runtime.State) error {
	_, err := r.awaitUntil(ctx, c, while, time.Time{})
	return err
}

// awaitUntil is await up to a time, if one is given. It reports whether c was
// in that state all the time; of a change at that very time c wins.
func (r *Runtime) awaitUntil(ctx context.Context, c *container, while runtime.State, until time.Time) (bool, error) {
	changed := r.executor.NewEvent()
	r.m.lock()
	used := c.uses()
	used.waiters = append(used.waiters, changed)
	r.m.unlock()
	defer r.m.unregister(c, changed)
	for {
		now := r.m.lock()
		over := c.gone || c.state(now) != while
		next := c.next
		r.m.unlock()
		switch {
		case over:
			return false, nil
		case !until.IsZero() && !until.After(now):
			return true, nil
		case !until.IsZero() && (next.IsZero() || until.Before(next)):
			next = until
		}
		if err := wait(ctx, changed, next); err != nil {
			return false, err
		}
	}
}

func (m *machine) unregister(c *container, e executor.Event) {
	m.lock()
	defer m.unlock()
	used := c.uses()
	used.waiters = slices.DeleteFunc(slices.Clone(used.waiters), func(w executor.Event) bool { return w == e })
	if len(used.waiters) == 0 && used.lines == nil && used.logged == 0 && used.files == nil && used.talk == nil {
		c.used = nil
	}
}

// wait waits for e, and until a time if there is one.
func wait(ctx context.Context, e executor.Event, until time.Time) error {
	if until.IsZero() {
		return e.Wait(ctx)
	}
	_, err := e.WaitUntil(ctx, until)
	return err
}
