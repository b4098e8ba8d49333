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

// Parallel is how many requests are under way at most.
const Parallel = 8

// The reasons of events, of which there is one for each static pod.
const (
	// ReasonNameTaken is on a static pod that has no mirror pod because an ordinary pod has
	// its name.
	ReasonNameTaken = "MirrorPodNameTaken"
	// ReasonRefused is on the node, because the API server refuses the mirror pod of a static
	// pod: for a quota, a namespace that is missing, or what mirror pods may not refer to.
	ReasonRefused = "MirrorPodRefused"
)

const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// shown is within which time a watch should show what was done.
	shown   = 10 * time.Second
	timeout = 30 * time.Second
)

// remakes spreads the creations of one mirror pod, or a program that deletes each at once would
// have the next one made at once: such as another node of the name without the static pod.
var remakes = backoff.Exponential{Initial: 100 * time.Millisecond, Max: time.Minute, Reset: 2 * time.Minute}

// Config is what a Reconciler is made of. Pods, Server and Node are required.
type Config struct {
	// Pods has the static pods and their mirror pods, as the watch shows them.
	Pods *podmanager.Store
	// Server is where mirror pods are.
	Server apiserver.Pods
	// Node returns the node's object, nil if it is not known. It must not block.
	Node func() *v1.Node
	// Terminating reports whether a static pod of a full name still has to end; nil is
	// never. Call Recheck when it has ended.
	Terminating func(fullName string) bool
	// Complete reports whether every source of static pods has delivered all of its pods;
	// nil is always. Call Recheck when that has changed.
	Complete func() bool
	// Recorder receives events; nil drops them. A panic of it costs that event.
	Recorder runtime.EventRecorder
	// NodeReports says that the node itself records an event if two of its pods have one
	// name, as syncloop/node does. Then the Reconciler records one only if the other pod is
	// not in Pods.
	NodeReports bool
	// RequestDone is called after each request, with its error; nil is not called.
	RequestDone func(err error)
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

func (c *Config) complete() error {
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

// Reconciler keeps the mirror pods of a node. Make one with New.
type Reconciler struct {
	cfg      Config
	executor executor.Executor
	wake     executor.Event
	ran      atomic.Bool

	mu struct {
		sync.Mutex
		names map[string]*name
		all   bool // all names are to be looked at
	}
}

// name is what the Reconciler knows of a full name.
type name struct {
	due      time.Time // zero: never
	failures int
	done     Action    // what was done last, if the watch has not shown it yet
	until    time.Time // when it should have
	repeats  int       // how often that was done again
	made     backoff.State
	reported types.UID // the static pod whose name is taken
	refused  types.UID // the static pod whose mirror pod the server refuses
}

// New returns a Reconciler that does nothing yet.
func New(config Config) (*Reconciler, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	r := &Reconciler{cfg: config, executor: t, wake: t.NewEvent()}
	r.mu.names = make(map[string]*name)
	return r, nil
}

// Run keeps the mirror pods until ctx ends, and returns nil when the last request has
// ended. Another call returns runtime.ErrSecondRun.
func (r *Reconciler) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return fmt.Errorf("mirror: %w", runtime.ErrSecondRun)
	}
	sub := r.cfg.Pods.Subscribe(r.wake.Signal)
	defer sub.Close()
	var names []string
	for {
		names = sub.TakeAll(names[:0])
		r.changed(names)
		due, next := r.due()
		executor.Each(r.executor, Parallel, len(due), func(i int) { r.reconcile(ctx, due[i]) })
		if len(due) > 0 {
			continue // Much may have changed meanwhile.
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

// Recheck has all names looked at: the node has changed, a pod has ended or a source has
// delivered. It never blocks.
func (r *Reconciler) Recheck() {
	r.mu.Lock()
	r.mu.all = true
	r.mu.Unlock()
	r.wake.Signal()
}

// Retry ends the pauses after failures: the server answers again. It never blocks.
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

// changed makes names due that have news. One that has failed keeps its pause.
func (r *Reconciler) changed(names []string) {
	now := r.executor.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, full := range names {
		if r.mu.names[full] == nil {
			r.mu.names[full] = &name{}
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

// due are the names to look at now, in order, and when the next one is due; zero: never.
func (r *Reconciler) due() (due []string, next time.Time) {
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

// facts are what is known of a name now.
func (r *Reconciler) facts(full string) Facts {
	f := Facts{Node: r.cfg.Node(), Terminating: r.cfg.Terminating(full), Complete: r.cfg.Complete()}
	i := strings.LastIndexByte(full, '_')
	namespace, short := full[i+1:], full[:i]
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

// reconcile does what is to be done about a name.
func (r *Reconciler) reconcile(ctx context.Context, full string) {
	f := r.facts(full)
	action := Decide(f)
	now := r.executor.Now()
	r.mu.Lock()
	n := r.mu.names[full]
	if action != Keep && action == n.done && now.Before(n.until) {
		n.due = n.until // The watch is late.
		r.mu.Unlock()
		return
	}
	if action == n.done {
		n.repeats++
	} else {
		n.done, n.repeats = Keep, 0
	}
	if action == Keep || action == Report {
		n.failures = 0 // What has failed is not to be done any more.
	}
	if wait := remakes.Remaining(n.made, now); action == Create && wait > 0 {
		n.due = now.Add(wait)
		r.mu.Unlock()
		return
	}
	if action == Keep && f.Static == nil && f.Mirror == nil {
		delete(r.mu.names, full)
	}
	r.mu.Unlock()
	var err error
	switch action {
	case Keep:
		return
	case Report:
		if !r.cfg.NodeReports {
			r.report(n, f.Static)
		}
		return
	case Create:
		err = r.create(ctx, f, n)
	case Delete:
		err = r.remove(ctx, f.Mirror)
	}
	r.did(ctx, full, n, action, err)
}

// did notes how an action went, and when the name is looked at again.
func (r *Reconciler) did(ctx context.Context, full string, n *name, action Action, err error) {
	now := r.executor.Now()
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("a mirror pod could not be changed, which is tried again", "pod", full, "action", action, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		n.due = now.Add(min(firstPause<<min(n.failures, 10), lastPause))
		n.failures++
		return
	}
	if action == Create {
		n.made = remakes.Failed(n.made, now)
	}
	n.until = now.Add(min(shown<<min(n.repeats, 10), lastPause))
	n.failures, n.done, n.due = 0, action, n.until
}

// report says once that a static pod has no mirror pod.
func (r *Reconciler) report(n *name, static *v1.Pod) {
	if n.reported == static.UID {
		return
	}
	n.reported = static.UID
	message := fmt.Sprintf("the API server does not show this static pod: an ordinary pod has the name %s/%s", static.Namespace, static.Name)
	r.cfg.Log.Warn(message, "pod", podmanager.FullName(static), "uid", static.UID)
	r.cfg.Recorder.Event(static, v1.EventTypeWarning, ReasonNameTaken, message)
}

// create makes the mirror pod. One that exists is looked at: it may be the right one.
func (r *Reconciler) create(ctx context.Context, f Facts, n *name) error {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(timeout))
	defer cancel()
	_, err := r.cfg.Server.Create(ctx, Build(f.Static, f.Node))
	if r.asked(err) == nil || !apierrors.IsAlreadyExists(err) {
		r.refused(n, f, err)
		return err
	}
	found, err := r.cfg.Server.Get(ctx, f.Static.Namespace, f.Static.Name)
	switch {
	case r.asked(err) != nil:
		return err
	case !podmanager.IsMirrorPod(found):
		r.report(n, f.Static)
		return errTaken
	case IsUpToDate(found, f.Static, f.Node):
		return nil
	}
	if err := r.remove(ctx, found); err != nil {
		return err
	}
	return errReplaced
}

// refused says once that the server has refused the mirror pod of a static pod, which runs
// without.
func (r *Reconciler) refused(n *name, f Facts, err error) {
	if apierrors.ReasonForError(err) == "" || patch.AnswerToPatch(err).Kind == patch.WaitAll || n.refused == f.Static.UID {
		return
	}
	n.refused = f.Static.UID
	r.cfg.Recorder.Event(f.Node, v1.EventTypeWarning, ReasonRefused,
		fmt.Sprintf("the API server does not show the static pod %s/%s: %v", f.Static.Namespace, f.Static.Name, err))
}

var (
	errTaken    = errors.New("mirror: an ordinary pod has the name")
	errReplaced = errors.New("mirror: another mirror pod had the name, and was deleted")
)

// remove deletes a mirror pod, by the UID that was observed. If it is gone, or another pod
// has its name, nothing is left to do.
func (r *Reconciler) remove(ctx context.Context, mirror *v1.Pod) error {
	ctx, cancel := r.executor.WithDeadline(ctx, r.executor.Now().Add(timeout))
	defer cancel()
	err := r.asked(r.cfg.Server.Delete(ctx, apiserver.PodRef{Namespace: mirror.Namespace, Name: mirror.Name, UID: mirror.UID}, new(int64)))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (r *Reconciler) asked(err error) error {
	r.cfg.RequestDone(err)
	return err
}
