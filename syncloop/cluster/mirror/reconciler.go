package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// Parallel is the maximum number of concurrent requests.
const Parallel = 8

// Reasons of events. Each static pod gets at most one event per reason.
const (
	// ReasonNameTaken is the reason of an event on a static pod that has no mirror pod because an ordinary pod has its
	// name.
	ReasonNameTaken = "MirrorPodNameTaken"
	// ReasonRefused is the reason of an event on the node if the API server refuses a mirror pod: because of a quota, a
	// missing namespace, or a reference that mirror pods may not have.
	ReasonRefused = "MirrorPodRefused"
)

const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	// watchDelay is how long a watch may take to show the result of an action.
	watchDelay     = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// createBackoff spreads repeated creations of one mirror pod. Otherwise a program that deletes it at once, such as
// another node with the same name but without the static pod, would cause a fast loop.
var createBackoff = backoff.Exponential{Initial: 100 * time.Millisecond, Max: time.Minute, Reset: 2 * time.Minute}

// Config configures a Reconciler. Pods, Server and Node are required.
type Config struct {
	// Pods has the static pods, and their mirror pods from the watch.
	Pods *podmanager.Store
	// Server writes the mirror pods.
	Server apiserver.Pods
	// Node returns the Node object, or nil if it is unknown. It must not block.
	Node func() *v1.Node
	// Terminating reports whether a static pod with a full name has not terminated yet; nil means never. Call Recheck
	// when the pod has terminated.
	Terminating func(fullName string) bool
	// Complete reports whether every source of static pods has delivered all of its pods; nil means always. Call
	// Recheck after a change.
	Complete func() bool
	// Recorder receives events. Nil discards them. If it panics, only that event is lost.
	Recorder runtime.EventRecorder
	// NodeReports means that the node itself records an event if two of its pods have the same name, as syncloop/node
	// does. Then the Reconciler records one only if the other pod is not in Pods.
	NodeReports bool
	// RequestDone is called after each request, with its error. It may be nil.
	RequestDone func(err error)
	// Clock is the clock; nil means the real clock.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// checkSetDefaultsAndContainPanics returns an error if a required field is nil. It sets the defaults of the
// other fields, and wraps the log, the recorder and RequestDone so that their panics do not crash the process.
func (c *Config) checkSetDefaultsAndContainPanics() error {
	if c.Pods == nil || c.Server == nil || c.Node == nil {
		return errors.New("mirror: Config: Pods, Server or Node is missing")
	}
	contain.SetDefault(&c.Terminating, func(string) bool { return false })
	contain.SetDefault(&c.Complete, func() bool { return true })
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	g := contain.New(contain.Config{Package: "mirror", Clock: c.Clock, Log: c.Log})
	c.Log, c.Recorder, c.RequestDone = g.Log(), contain.NewRecorder(g, c.Recorder), contain.Hook1(g, "RequestDone", c.RequestDone)
	return nil
}

// Reconciler maintains the mirror pods of a node. Make one with New.
type Reconciler struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		names map[string]*nameState
		all   bool // all names must be checked
	}
}

// nameState is the state of one full name.
type nameState struct {
	due             time.Time // next check; zero: none
	failures        int
	lastAction      Action    // last action whose result the watch has not shown
	expectedBy      time.Time // when the watch should have shown it
	repeats         int       // repetitions of that action
	creations       backoff.State
	reportedTaken   types.UID // the last static pod that was reported as taken
	reportedRefusal types.UID // the last static pod that was reported as refused
}

// New returns a Reconciler that has done nothing.
func New(config Config) (*Reconciler, error) {
	if err := config.checkSetDefaultsAndContainPanics(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	r := &Reconciler{cfg: config, executor: t, wake: t.NewEvent()}
	r.mu.names = make(map[string]*nameState)
	return r, nil
}

// Run maintains the mirror pods until ctx is done. It returns nil after the last request has completed. A second call
// returns runtime.ErrSecondRun.
func (r *Reconciler) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return fmt.Errorf("mirror: %w", runtime.ErrSecondRun)
	}
	sub := r.cfg.Pods.Subscribe(r.wake.Signal)
	defer sub.Close()
	var names []string
	for {
		names = sub.TakeAll(names[:0])
		r.markNamesDueUnlessBackingOff(names)
		due, next := r.takeDueNames()
		executor.Each(r.executor, Parallel, len(due), func(i int) { r.reconcileName(ctx, due[i]) })
		if len(due) > 0 {
			continue // More names may have changed meanwhile.
		}
		var err error
		if next.IsZero() {
			err = r.wake.Wait(ctx)
		} else {
			_, err = r.wake.WaitUntil(ctx, next)
		}
		if err != nil {
			return nil
		}
	}
}

// Recheck triggers a check of all names, because the node has changed, a pod has terminated or a source has delivered.
// It never blocks.
func (r *Reconciler) Recheck() {
	r.mu.Lock()
	r.mu.all = true
	r.mu.Unlock()
	r.wake.Signal()
}

// Retry ends the pauses after failures, because the server answers again. It never blocks.
func (r *Reconciler) Retry() {
	now := r.executor.Now()
	r.mu.Lock()
	for _, n := range r.mu.names {
		if n.failures > 0 {
			n.failures, n.due = 0, now
		}
	}
	r.mu.Unlock()
	r.wake.Signal()
}

// markNamesDueUnlessBackingOff makes a check of the given static pod names due now, and also of all known names
// if Recheck was called for all. A name whose last action has failed keeps its backoff.
func (r *Reconciler) markNamesDueUnlessBackingOff(names []string) {
	now := r.executor.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, full := range names {
		if r.mu.names[full] == nil {
			r.mu.names[full] = &nameState{}
		}
		if n := r.mu.names[full]; n.failures == 0 {
			n.due = now
		}
	}
	if r.mu.all {
		r.mu.all = false
		for _, n := range r.mu.names {
			if n.failures == 0 {
				n.due = now
			}
		}
	}
}

// takeDueNames returns the static pod names that are due for a check, in order, and marks them as not due. next
// is the time when the next name is due, or zero.
func (r *Reconciler) takeDueNames() (due []string, next time.Time) {
	now := r.executor.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, full := range slices.Sorted(maps.Keys(r.mu.names)) {
		switch n := r.mu.names[full]; {
		case n.due.IsZero():
		case !n.due.After(now):
			n.due = time.Time{}
			due = append(due, full)
		case next.IsZero() || n.due.Before(next):
			next = n.due
		}
	}
	return due, next
}

// collectFacts returns the facts that Decide needs about a static pod name: the Node object, the static pod,
// the mirror pod, whether an ordinary pod has the name, whether a static pod of the name still terminates, and
// whether all static pods are known.
func (r *Reconciler) collectFacts(fullName string) Facts {
	f := Facts{Node: r.cfg.Node(), Terminating: r.cfg.Terminating(fullName), Complete: r.cfg.Complete()}
	i := strings.LastIndexByte(fullName, '_')
	namespace, short := fullName[i+1:], fullName[:i]
	f.Mirror, _ = r.cfg.Pods.GetMirrorPodByName(namespace, short)
	for _, pod := range r.cfg.Pods.GetPodsOfName(namespace, short) {
		switch {
		case !podmanager.IsStaticPod(pod):
			f.Taken = true
		case f.Static == nil:
			f.Static = pod
		}
	}
	return f
}

// reconcileName creates, deletes or keeps the mirror pod of a static pod name, or reports that the name is
// taken, unless the node reports that itself. It postpones an action while the watch has not shown the same
// last action, or while creations are in backoff. It forgets a name that has neither a static pod nor a mirror
// pod.
func (r *Reconciler) reconcileName(ctx context.Context, fullName string) {
	f := r.collectFacts(fullName)
	action := Decide(f)
	now := r.executor.Now()
	r.mu.Lock()
	n := r.mu.names[fullName]
	if action != Keep && action == n.lastAction && now.Before(n.expectedBy) {
		n.due = n.expectedBy // The watch has not shown the last action yet.
		r.mu.Unlock()
		return
	}
	if action == n.lastAction {
		n.repeats++
	} else {
		n.lastAction, n.repeats = Keep, 0
	}
	if action == Keep || action == Report {
		n.failures = 0 // The failed action is obsolete.
	}
	if wait := createBackoff.Remaining(n.creations, now); action == Create && wait > 0 {
		n.due = now.Add(wait)
		r.mu.Unlock()
		return
	}
	if action == Keep && f.Static == nil && f.Mirror == nil {
		delete(r.mu.names, fullName)
	}
	r.mu.Unlock()
	var err error
	switch action {
	case Keep:
		return
	case Report:
		if !r.cfg.NodeReports {
			r.reportNameTakenOnce(n, f.Static)
		}
		return
	case Create:
		err = r.createMirrorPod(ctx, f, n)
	case Delete:
		err = r.deleteMirrorPod(ctx, f.Mirror)
	}
	r.scheduleNextCheckAfterAction(ctx, fullName, n, action, err)
}

// scheduleNextCheckAfterAction schedules the next check of a static pod's name after an action on its mirror
// pod. After a failed action it logs a warning, unless ctx has ended, and the next check follows after a
// backoff that grows with each failure. After a successful action the next check follows when the watch should
// have shown the action. That time grows if the same action is repeated. After a creation it also counts the
// creation for the backoff of the next creation.
func (r *Reconciler) scheduleNextCheckAfterAction(ctx context.Context, fullName string, n *nameState, action Action, err error) {
	now := r.executor.Now()
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("cannot change a mirror pod; retrying", "pod", fullName, "action", action, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		n.due = now.Add(min(minBackoff<<min(n.failures, 10), maxBackoff))
		n.failures++
		return
	}
	if action == Create {
		n.creations = createBackoff.Failed(n.creations, now)
	}
	n.expectedBy = now.Add(min(watchDelay<<min(n.repeats, 10), maxBackoff))
	n.failures, n.lastAction, n.due = 0, action, n.expectedBy
}

// reportNameTakenOnce logs and records one event per static pod that has no mirror pod because an ordinary pod has
// its name.
func (r *Reconciler) reportNameTakenOnce(n *nameState, static *v1.Pod) {
	if n.reportedTaken == static.UID {
		return
	}
	n.reportedTaken = static.UID
	message := fmt.Sprintf("the API server does not show this static pod: an ordinary pod has the name %s/%s", static.Namespace, static.Name)
	r.cfg.Log.Warn(message, "pod", podmanager.FullName(static), "uid", static.UID)
	r.cfg.Recorder.Event(static, v1.EventTypeWarning, ReasonNameTaken, message)
}

// createMirrorPod creates the mirror pod of a static pod. If a pod of the name exists, it accepts an up-to-date
// mirror pod, deletes an outdated one, or reports that the name is taken. The last two cases are errors.
func (r *Reconciler) createMirrorPod(ctx context.Context, f Facts, n *nameState) error {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(requestTimeout))
	defer cancel()
	_, err := r.cfg.Server.Create(ctx, Build(f.Static, f.Node))
	if r.reportAndReturnError(err) == nil || !apierrors.IsAlreadyExists(err) {
		r.recordServerRefusalOncePerUID(n, f, err)
		return err
	}
	found, err := r.cfg.Server.Get(ctx, f.Static.Namespace, f.Static.Name)
	switch {
	case r.reportAndReturnError(err) != nil:
		return err
	case !podmanager.IsMirrorPod(found):
		r.reportNameTakenOnce(n, f.Static)
		return errNameTaken
	case IsUpToDate(found, f.Static, f.Node):
		return nil
	}
	if err := r.deleteMirrorPod(ctx, found); err != nil {
		return err
	}
	return errMirrorReplaced
}

// recordServerRefusalOncePerUID records one event per UID of a static pod whose mirror pod the server refuses.
// The static pod runs without a mirror pod. It ignores errors that are no answer of the server, and answers
// that concern all requests: overload, rejected credentials, unavailable.
func (r *Reconciler) recordServerRefusalOncePerUID(n *nameState, f Facts, err error) {
	if apierrors.ReasonForError(err) == "" || patch.AnswerToPatch(err).Kind == patch.WaitAll || n.reportedRefusal == f.Static.UID {
		return
	}
	n.reportedRefusal = f.Static.UID
	r.cfg.Recorder.Event(f.Node, v1.EventTypeWarning, ReasonRefused,
		fmt.Sprintf("the API server does not show the static pod %s/%s: %v", f.Static.Namespace, f.Static.Name, err))
}

var (
	errNameTaken      = errors.New("mirror: an ordinary pod has the name")
	errMirrorReplaced = errors.New("mirror: deleted another mirror pod of the name")
)

// deleteMirrorPod deletes a mirror pod with the observed UID. It succeeds if the pod is gone or another pod has its
// name.
func (r *Reconciler) deleteMirrorPod(ctx context.Context, mirror *v1.Pod) error {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(requestTimeout))
	defer cancel()
	err := r.reportAndReturnError(r.cfg.Server.Delete(ctx, apiserver.PodRef{Namespace: mirror.Namespace, Name: mirror.Name, UID: mirror.UID}, new(int64)))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// reportAndReturnError calls Config.RequestDone with the error of a request, which may be nil, and returns the
// error unchanged.
func (r *Reconciler) reportAndReturnError(err error) error {
	r.cfg.RequestDone(err)
	return err
}
