package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// Config is what an Agent is made of. Spec.Name, Facts and Server are required.
type Config struct {
	// Spec is what the node is registered with.
	Spec nodestatus.Spec
	// Facts measures the node. It is called by one goroutine, every 10 s and at each
	// Report, and may block; its Now and Starting are set by the Agent.
	Facts func(ctx context.Context) nodestatus.Facts
	// Server is the API server.
	Server apiserver.NodeServer
	// Recorder receives events about the node, with its UID; nil drops them. A
	// panic of it costs that event.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter gives numbers in [0,1) that spread periods; nil is random.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Hooks are called with what has happened; all are optional.
	Hooks Hooks
}

// Hooks are called by the Agent's goroutines, with no lock held, possibly several at once.
// They must not block.
type Hooks struct {
	// Changed is called with each new state of the node at the server.
	Changed func(node *v1.Node)
	// Replaced is called when another object has the node's name, once for each.
	Replaced func(before, now types.UID)
	// OtherHolder is called when the lease of the node is renewed by another holder.
	OtherHolder func(holder string)
	// RequestDone is called after each request, with its error.
	RequestDone func(err error)
}

func (c *Config) complete() error {
	if c.Spec.Name == "" || c.Facts == nil || c.Server == nil {
		return errors.New("nodeagent: Config: Spec.Name, Facts or Server is missing")
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	contain.SetDefault(&c.Jitter, rand.Float64)
	g := contain.New(contain.Config{Package: "node", Clock: c.Clock, Log: c.Log})
	c.Log, c.Recorder = g.Log(), contain.NewRecorder(g, c.Recorder)
	c.Hooks.Changed = contain.Hook1(g, "Hooks.Changed", c.Hooks.Changed)
	c.Hooks.Replaced = contain.Hook2(g, "Hooks.Replaced", c.Hooks.Replaced)
	c.Hooks.OtherHolder = contain.Hook1(g, "Hooks.OtherHolder", c.Hooks.OtherHolder)
	c.Hooks.RequestDone = contain.Hook1(g, "Hooks.RequestDone", c.Hooks.RequestDone)
	return nil
}

// Agent keeps a node's object and lease. Make one with New.
type Agent struct {
	cfg      Config
	executor executor.Executor
	seen     executor.Latch
	// report, renew and read wake the loops of those names.
	report, renew, read waker
	retries             atomic.Uint64
	ran                 atomic.Bool
	start               nodestatus.Start // of reporting, which alone uses it

	mu struct {
		sync.Mutex
		node    *v1.Node  // as the server has shown it last; nil: there is none
		readAt  time.Time // when the last read of it began
		wrote   bool      // that is the answer to our own write, which was not shown yet
		wroteAt time.Time // when it came
		ours    types.UID // of the object that this agent has registered; empty: none yet
		since   time.Time // when that was
		other   types.UID // of the object that Hooks.Replaced was called for last
		sent    *v1.NodeStatus
		sentAt  time.Time
		later   time.Duration // by how much the next report without a change is put off
		lease   *coordinationv1.Lease
	}
}

// New returns an Agent that asks nothing yet.
func New(config Config) (*Agent, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	a := &Agent{cfg: config, executor: t, seen: t.NewLatch()}
	a.report.Event, a.renew.Event, a.read.Event = t.NewEvent(), t.NewEvent(), t.NewEvent()
	return a, nil
}

// Run registers the node and keeps its object until ctx ends, and returns nil then. The
// object stays, and the lease runs out. Another call returns runtime.ErrSecondRun.
func (a *Agent) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return fmt.Errorf("nodeagent: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(a.executor)
	for _, loop := range []func(context.Context){a.reporting, a.renewing, a.reading} {
		group.Go(func() { loop(ctx) })
	}
	group.Wait()
	return nil
}

// WaitForRegistration waits until the node is registered for the first time, or returns the context's
// error.
func (a *Agent) WaitForRegistration(ctx context.Context) error { return a.seen.Wait(ctx) }

// Node returns the node as the server has shown it last, and when the last read of it
// began; nil if there is none. It never blocks. The node is only read.
func (a *Agent) Node() (*v1.Node, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.node, a.mu.readAt
}

// Report has the node measured, and its status sent if it has changed. It never blocks.
func (a *Agent) Report() { a.report.Signal() }

// Refresh has the node read from the server; Hooks.Changed tells of it. It never blocks.
func (a *Agent) Refresh() { a.read.Signal() }

// Retry ends the pauses after errors: the server answers again. What has not failed goes on as it
// does. It never blocks.
func (a *Agent) Retry() {
	a.retries.Add(1)
	for _, w := range []*waker{&a.report, &a.renew, &a.read} {
		if w.failed.Load() {
			w.Signal()
		}
	}
}

// waker wakes one of the loops.
type waker struct {
	executor.Event
	failed atomic.Bool // the last round, and Retry ends the pause after it
	begun  uint64      // how many retries there were before the last round
}

// pause waits for d, a little more, or until the event. It fails when ctx ends.
func (a *Agent) pause(ctx context.Context, w *waker, d time.Duration) error {
	const spread = 0.04
	d += time.Duration(float64(d) * spread * a.cfg.Jitter())
	_, err := w.WaitUntil(ctx, a.executor.Now().Add(d))
	w.failed.Store(false)
	w.begun = a.retries.Load()
	return err
}

// is notes the node as the server has shown it now, by a read that began at a time, or by a
// watch.
func (a *Agent) is(node *v1.Node, readAt time.Time) { a.take(node, readAt, false) }

// take notes a state of the node that was shown, or the answer to our own write. What is older
// than such an answer was on its way before it, and is dropped, unless it was read later: then
// the server's data were restored from a backup. So they were if it is older than what was shown
// before.
func (a *Agent) take(node *v1.Node, readAt time.Time, wrote bool) {
	a.mu.Lock()
	before := a.mu.node
	if readAt.After(a.mu.readAt) {
		a.mu.readAt = readAt
	}
	known := before != nil && before.UID == node.UID
	if known && older(node.ResourceVersion, before.ResourceVersion) {
		if wrote || a.mu.wrote && !readAt.After(a.mu.wroteAt) {
			a.mu.Unlock()
			return
		}
		a.mu.sent = nil // What it has of the status is not known.
	}
	a.mu.wrote, a.mu.wroteAt = wrote, a.executor.Now()
	a.mu.node = node
	a.mu.Unlock()
	a.seen.Open()
	if known {
		a.record(nodestatus.Events(before, node), node)
	}
	if a.replaced(node) {
		a.reportSoon()
	}
	a.cfg.Hooks.Changed(node)
}

// replaced tells of an object that has the name of ours, and reports whether it did. What was
// sent is not the other object's.
func (a *Agent) replaced(node *v1.Node) bool {
	a.mu.Lock()
	ours := a.mu.ours
	replaced := ours != "" && ours != node.UID && a.mu.other != node.UID
	if replaced {
		a.mu.other, a.mu.sent, a.mu.lease = node.UID, nil, nil
	}
	a.mu.Unlock()
	if replaced {
		a.cfg.Log.Warn("another object has the name of the node", "node", node.Name, "before", ours, "now", node.UID)
		a.cfg.Hooks.Replaced(ours, node.UID)
	}
	return replaced
}

// record records events about the node.
func (a *Agent) record(events []nodestatus.Event, node *v1.Node) {
	for _, e := range events {
		a.cfg.Recorder.Event(node, e.Type, e.Reason, e.Message)
	}
}

// gone notes that the node has no object.
func (a *Agent) gone() {
	if a.unknown() {
		a.reportSoon()
	}
}

// reportSoon has the node registered again, at once unless that was done just now: a controller
// that does not know the machine may delete the object again and again.
func (a *Agent) reportSoon() {
	a.mu.Lock()
	settled := a.executor.Now().Sub(a.mu.since) >= nodestatus.Period/2
	a.mu.Unlock()
	if settled {
		a.Report()
	}
}

// unknown is gone without a report at once. It reports whether there was an object.
func (a *Agent) unknown() bool {
	a.mu.Lock()
	known := a.mu.node != nil
	a.mu.node, a.mu.sent, a.mu.lease = nil, nil, nil
	a.mu.Unlock()
	if known {
		a.cfg.Log.Warn("the node's object was deleted; it is registered again", "node", a.cfg.Spec.Name)
	}
	return known
}

// older compares resource versions. One that is no number is not older.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// asked notes the answer of the server, and returns it.
func (a *Agent) asked(err error) error {
	a.cfg.Hooks.RequestDone(err)
	return err
}

// failed logs an error that is tried again, at once if Retry was called since the round began.
func (a *Agent) failed(ctx context.Context, w *waker, what string, err error) {
	w.failed.Store(true)
	if a.retries.Load() != w.begun {
		w.Signal()
	}
	if ctx.Err() == nil {
		a.cfg.Log.Warn(what+" failed and is tried again", "node", a.cfg.Spec.Name, "err", err)
	}
}

// The reasons that an answer may have.
var (
	notFound = apierrors.IsNotFound
	exists   = func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) }
)
