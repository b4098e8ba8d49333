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

// Config configures an Agent. Spec.Name, Facts and Server are required.
type Config struct {
	// Spec is the desired Node object: the name, labels and taints of the registration. An existing Node object keeps
	// its own taints.
	Spec nodestatus.Spec
	// Facts measures the node. One goroutine calls it every 10 s and after each RequestStatusUpdate. It may block. The
	// Agent sets its Now and Starting.
	Facts func(ctx context.Context) nodestatus.Facts
	// Server is the API server.
	Server apiserver.NodeServer
	// Recorder receives events about the node, with the node's UID. Nil discards them. If it panics, only that event is
	// lost.
	Recorder runtime.EventRecorder
	// Clock is the clock; nil means the real clock.
	Clock clock.Clock
	// Jitter returns numbers in [0,1) that spread periods; nil means random numbers.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Hooks are called after changes and requests. All are optional.
	Hooks Hooks
}

// Hooks are called by the Agent's goroutines without locks, possibly concurrently. They must not block.
type Hooks struct {
	// Changed is called with each new state of the Node object.
	Changed func(node *v1.Node)
	// Replaced is called once for each new object with the node's name and another UID.
	Replaced func(before, now types.UID)
	// OtherHolder is called if another holder renews the node's lease.
	OtherHolder func(holder string)
	// RequestDone is called after each request, with its error.
	RequestDone func(err error)
}

// checkSetDefaultsAndContainPanics returns an error if a required field is missing. It sets the defaults of the
// other fields, and wraps the log, the recorder and the hooks so that their panics do not crash the process.
func (c *Config) checkSetDefaultsAndContainPanics() error {
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

// Agent maintains a node's object and lease at an API server. Make one with New.
type Agent struct {
	cfg        Config
	executor   executor.Executor
	registered executor.Latch
	// Each signal wakes one loop. wakeWatchLoop makes the watch loop read the Node object.
	wakeStatusLoop, wakeLeaseLoop, wakeWatchLoop loopSignal
	retries                                      atomic.Uint64
	ran                                          atomic.Bool
	start                                        nodestatus.Start // the start phase; only the status loop uses it

	mu struct {
		sync.Mutex
		node        *v1.Node  // newest state from the server; nil: no object exists
		readAt      time.Time // when the last read of the object began
		wrote       bool      // whether node is the response to a write, which the watch has not shown yet
		wroteAt     time.Time // when that response arrived
		ours        types.UID // UID of the object that this agent has registered; empty before
		since       time.Time // when the agent registered it
		other       types.UID // UID of the last object that Hooks.Replaced reported
		sent        *v1.NodeStatus
		sentAt      time.Time
		reportDelay time.Duration // added to the period of the next report without a change; may be negative
		lease       *coordinationv1.Lease
	}
}

// New returns an Agent that has sent no request.
func New(config Config) (*Agent, error) {
	if err := config.checkSetDefaultsAndContainPanics(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	a := &Agent{cfg: config, executor: t, registered: t.NewLatch()}
	a.wakeStatusLoop.Event, a.wakeLeaseLoop.Event, a.wakeWatchLoop.Event = t.NewEvent(), t.NewEvent(), t.NewEvent()
	return a, nil
}

// Run registers the node and maintains its object and lease until ctx is done, and then returns nil. The object stays,
// and the lease expires. A second call returns runtime.ErrSecondRun.
func (a *Agent) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return fmt.Errorf("nodeagent: %w", runtime.ErrSecondRun)
	}
	group := executor.NewGroup(a.executor)
	for _, loop := range []func(context.Context){a.runStatusLoop, a.runLeaseLoop, a.runWatchLoop} {
		group.Go(func() { loop(ctx) })
	}
	group.Wait()
	return nil
}

// WaitForRegistration waits until the node is registered for the first time. It returns the error of ctx.
func (a *Agent) WaitForRegistration(ctx context.Context) error { return a.registered.Wait(ctx) }

// Node returns the newest state of the Node object, or nil if none exists, and when the last read began. It never
// blocks. The caller must not change the object.
func (a *Agent) Node() (*v1.Node, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.node, a.mu.readAt
}

// RequestStatusUpdate makes the status loop measure the node now, and send the status if it has changed.
// RequestStatusUpdate never blocks.
func (a *Agent) RequestStatusUpdate() { a.wakeStatusLoop.Signal() }

// Refresh triggers a read of the Node object, after which Hooks.Changed is called. It never blocks.
func (a *Agent) Refresh() { a.wakeWatchLoop.Signal() }

// Retry ends the pauses after errors, because the server answers again. A loop without an error keeps its pause. It
// never blocks.
func (a *Agent) Retry() {
	a.retries.Add(1)
	for _, w := range []*loopSignal{&a.wakeStatusLoop, &a.wakeLeaseLoop, &a.wakeWatchLoop} {
		if w.failed.Load() {
			w.Signal()
		}
	}
}

// loopSignal wakes one of the loops.
type loopSignal struct {
	executor.Event
	failed        atomic.Bool // whether the last round failed, so that Retry ends its pause
	retriesBefore uint64      // number of retries before the last round
}

// waitForSignal waits for d and up to 4 % more, or until the loop is woken. It then resets the failure state of
// the loop. It returns the error of ctx.
func (a *Agent) waitForSignal(ctx context.Context, w *loopSignal, d time.Duration) error {
	const spread = 0.04
	d += time.Duration(float64(d) * spread * a.cfg.Jitter())
	_, err := w.WaitUntil(ctx, a.executor.Now().Add(d))
	w.failed.Store(false)
	w.retriesBefore = a.retries.Load()
	return err
}

// storeReadNodeAndNotify calls storeNodeAndNotify for a Node object that a watch has shown, or that was read
// from the server. readAt is the start of the read, and zero for a watch.
func (a *Agent) storeReadNodeAndNotify(node *v1.Node, readAt time.Time) {
	a.storeNodeAndNotify(node, readAt, false)
}

// storeNodeAndNotify stores a Node object from the server, marks the node as registered, records events for its
// changes, handles a new UID, and calls Hooks.Changed. ownWrite says that the object is the response to a write
// of this agent. It ignores an object that is older than the last such response, unless the object was read
// later. In that case the server was restored from a backup, and the status that was sent last counts as
// unknown.
func (a *Agent) storeNodeAndNotify(node *v1.Node, readAt time.Time, ownWrite bool) {
	a.mu.Lock()
	before := a.mu.node
	if readAt.After(a.mu.readAt) {
		a.mu.readAt = readAt
	}
	known := before != nil && before.UID == node.UID
	if known && isOlderVersion(node.ResourceVersion, before.ResourceVersion) {
		if ownWrite || a.mu.wrote && !readAt.After(a.mu.wroteAt) {
			a.mu.Unlock()
			return
		}
		a.mu.sent = nil // The agent does not know which status the server has.
	}
	a.mu.wrote, a.mu.wroteAt = ownWrite, a.executor.Now()
	a.mu.node = node
	a.mu.Unlock()
	a.registered.Open()
	if known {
		a.recordEvents(nodestatus.Events(before, node), node)
	}
	if a.forgetSentAndReportReplacement(node) {
		a.requestReregistration()
	}
	a.cfg.Hooks.Changed(node)
}

// forgetSentAndReportReplacement returns true if another object with a new UID has the node's name, but only
// once for each UID. It then forgets the sent status and the lease, which belong to the old object, logs a
// warning and calls Hooks.Replaced.
func (a *Agent) forgetSentAndReportReplacement(node *v1.Node) (replaced bool) {
	a.mu.Lock()
	ours := a.mu.ours
	replaced = ours != "" && ours != node.UID && a.mu.other != node.UID
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

// recordEvents sends each event to the recorder, about the Node object.
func (a *Agent) recordEvents(events []nodestatus.Event, node *v1.Node) {
	for _, e := range events {
		a.cfg.Recorder.Event(node, e.Type, e.Reason, e.Message)
	}
}

// forgetNodeAndReregister forgets the Node object. If one was known, it requests the registration of the node.
func (a *Agent) forgetNodeAndReregister() {
	if a.forgetNode() {
		a.requestReregistration()
	}
}

// requestReregistration wakes the status loop so that it registers the node, unless the last registration was
// just now. Without this limit, this agent and a controller that deletes unknown nodes would create and delete
// the object in a fast loop.
func (a *Agent) requestReregistration() {
	a.mu.Lock()
	settled := a.executor.Now().Sub(a.mu.since) >= nodestatus.Period/2
	a.mu.Unlock()
	if settled {
		a.RequestStatusUpdate()
	}
}

// forgetNode forgets the Node object, the sent status and the lease. It logs a warning and returns true if a
// Node object was known.
func (a *Agent) forgetNode() (known bool) {
	a.mu.Lock()
	known = a.mu.node != nil
	a.mu.node, a.mu.sent, a.mu.lease = nil, nil, nil
	a.mu.Unlock()
	if known {
		a.cfg.Log.Warn("the Node object was deleted; registering the node again", "node", a.cfg.Spec.Name)
	}
	return known
}

// isOlderVersion reports whether candidate is a lower resource version than the version than. It returns false
// if one of them is not a number.
func isOlderVersion(candidate, than string) bool {
	order, err := resourceversion.CompareResourceVersion(candidate, than)
	return err == nil && order < 0
}

// reportRequestDoneAndReturnError calls Hooks.RequestDone with the error of a request, which may be nil, and returns the
// error unchanged.
func (a *Agent) reportRequestDoneAndReturnError(err error) error {
	a.cfg.Hooks.RequestDone(err)
	return err
}

// logFailureAndRetryIfAsked logs an error of a loop and marks the loop as failed. If Retry was called since the
// loop's last wait, it also makes the next attempt start at once.
func (a *Agent) logFailureAndRetryIfAsked(ctx context.Context, w *loopSignal, what string, err error) {
	w.failed.Store(true)
	if a.retries.Load() != w.retriesBefore {
		w.Signal()
	}
	if ctx.Err() == nil {
		a.cfg.Log.Warn(what+" failed and is tried again", "node", a.cfg.Spec.Name, "err", err)
	}
}

// Predicates on errors of the API server.
var (
	isNotFound            = apierrors.IsNotFound
	isExistingOrForbidden = func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) }
)
