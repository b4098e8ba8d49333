package syncloop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/dirty"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
)

// Loop is the node's heartbeat: it waits until there is something to do and
// calls the handler for it. Whatever wakes it is level-triggered, so that
// nothing can be lost while it is busy and nothing runs while it is idle.
type Loop struct {
	config       Config
	guard        *contain.Guard
	executor     executor.Executor
	wake         executor.Event
	changes      pleg.Subscription
	syncRequests *dirty.Set[struct{}]
	probes       probeResults
	// onChange is the handler's method for what the runtime shows.
	onChange       func(ctx context.Context, pods []*v1.Pod)
	waitingHandler WaitingHandler // nil: the handler is none
	// earliestHousekeeping is the earliest time for the next cleanup; used by Step only.
	earliestHousekeeping time.Time
	ran                  atomic.Bool

	mu struct {
		sync.Mutex
		touched time.Time        // the first change since the last cleanup; zero without one
		entered time.Time        // when the step in progress began; zero between steps
		flushes []executor.Latch // to be opened when the next step has ended
		ended   bool
	}
	// The buffers of a step, which the next step uses again.
	changed   []pleg.Change
	requested []dirty.Entry[struct{}]
}

// ErrStopped is returned by the methods of a loop whose Run has ended.
var ErrStopped = errors.New("syncloop: Run has ended")

// New makes a loop. It runs nothing until Run or Step is called.
func New(config Config) (*Loop, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	t := executor.Over(config.Clock)
	guard := contain.New(contain.Config{Package: "syncloop", Clock: config.Clock, Log: config.Log, OnPanic: config.Hooks.Panicked})
	config.Log = guard.Log()
	config.Hooks.Cleanup = contain.Hook2(guard, "Hooks.Cleanup", config.Hooks.Cleanup)
	l := &Loop{config: config, guard: guard, executor: t, wake: t.NewEvent()}
	l.onChange = config.Handler.HandlePodSyncs
	if h, ok := config.Handler.(ChangeHandler); ok {
		l.onChange = h.HandlePodChanges
	}
	l.syncRequests = dirty.New[struct{}](nil, l.wake.Signal)
	l.probes.wake = l.wake.Signal
	l.changes = config.Changes.Subscribe(l.wake.Signal)
	// Each word of a source is a change, even if there is nothing to take: the
	// source may have become complete.
	config.Updates.SetWake(l.RequestHousekeeping)
	if config.Deadlines != nil {
		config.Deadlines.wake = l.wake.Signal
	}
	if l.waitingHandler, _ = config.Handler.(WaitingHandler); l.waitingHandler != nil {
		l.waitingHandler.SetWake(l.wake.Signal, l.RequestHousekeeping)
	}
	l.mu.touched = t.Now() // There is a first look around in any case.
	return l, nil
}

// Run steps whenever there is something to do, until ctx ends. It returns nil
// then. A second call returns runtime.ErrSecondRun.
//
// It begins once Config.ReadyToStart says so, or after Config.StartTimeout.
func (l *Loop) Run(ctx context.Context) error {
	if l.ran.Swap(true) {
		return fmt.Errorf("syncloop: %w", runtime.ErrSecondRun)
	}
	defer l.changes.Close()
	defer l.releaseFlushes()
	if l.waitingHandler != nil {
		defer l.waitingHandler.StopWaiting()
	}
	l.waitUntilReady(ctx)
	for ctx.Err() == nil {
		if next, timed := l.Step(ctx); l.waitForNextStep(ctx, next, timed) != nil {
			break
		}
	}
	return nil
}

// waitForNextStep waits until the next step is due. It returns an error when Run has to end. A wake-up during
// the step before ends the wait at once.
func (l *Loop) waitForNextStep(ctx context.Context, next time.Time, timed bool) error {
	if !timed {
		return l.wake.Wait(ctx)
	}
	_, err := l.wake.WaitUntil(ctx, next)
	return err
}

// Step does all that is to be done now, in a fixed order: desired state, changes in the
// runtime, probe results, requested syncs, deadlines, pods that wait, housekeeping. It
// returns when the next step is due even if nothing happens; false if that is never. It
// is for callers that do not call Run, one call at a time.
func (l *Loop) Step(ctx context.Context) (next time.Time, timed bool) {
	flushes := l.beginStep(l.executor.Now())
	defer l.endStep(flushes)
	l.handleUpdates(ctx, l.config.Updates.TakeAll(nil))
	l.changed = l.changes.TakeAll(l.changed[:0])
	l.handleRuntimeChanges(ctx, l.changed)
	l.handleProbeResults(ctx)
	l.requested = l.syncRequests.TakeAll(l.requested[:0])
	for _, request := range l.requested {
		l.syncPod(ctx, request.UID)
	}
	next, timed = l.terminateExpiredPods()
	if at, due := l.handleWaitingPods(ctx); due && (!timed || at.Before(next)) {
		next, timed = at, true
	}
	if at, wanted := l.runDueHousekeeping(ctx); wanted && (!timed || at.Before(next)) {
		next, timed = at, true
	}
	return next, timed
}

// terminateIfDue terminates the pods that are past their deadlines, and returns when the next deadline is.
func (l *Loop) terminateExpiredPods() (next time.Time, timed bool) {
	if l.config.Deadlines == nil {
		return time.Time{}, false
	}
	return l.config.Deadlines.terminateDuePods()
}

// recordWaiting has the handler see to pods that wait, and says when it should again.
func (l *Loop) handleWaitingPods(ctx context.Context) (next time.Time, timed bool) {
	if l.waitingHandler == nil {
		return time.Time{}, false
	}
	if err := l.guard.Call("SyncHandler.HandleWaiting", func() { next, timed = l.waitingHandler.HandleWaiting(ctx) }); err != nil {
		l.config.Log.Error("pods that wait could not be seen to", "err", err)
		l.markHousekeepingNeeded()
	}
	return next, timed
}

// RequestSync asks for a sync of a pod. It never blocks and may be called
// from anywhere, any number of times.
func (l *Loop) RequestSync(uid types.UID) { l.syncRequests.Add(uid, struct{}{}) }

// RequestHousekeeping says that something has changed which housekeeping should see: a
// worker has finished, say. It never blocks and may be called from anywhere.
func (l *Loop) RequestHousekeeping() {
	l.markHousekeepingNeeded()
	l.wake.Signal()
}

// addWorkerChange is RequestHousekeeping from within a step, which looks at the time before it ends and
// need not be woken for another.
func (l *Loop) markHousekeepingNeeded() {
	now := l.executor.Now()
	l.mu.Lock()
	if l.mu.touched.IsZero() {
		l.mu.touched = now
	}
	l.mu.Unlock()
}

// Healthy fails while one step has been going on for longer than StuckAfter, and
// for five minutes after each panic of a handler, which it names. A loop that has
// nothing to do is healthy, however long that lasts.
func (l *Loop) Healthy() error { return errors.Join(l.Stuck(), l.guard.Healthy()) }

// Stuck fails while one step has been going on for longer than StuckAfter. It is the part of
// Healthy for a watchdog: nothing but another process helps then, and a panic that was
// contained is no reason for one.
func (l *Loop) Stuck() error {
	now := l.executor.Now()
	l.mu.Lock()
	entered := l.mu.entered
	l.mu.Unlock()
	if !entered.IsZero() && now.Sub(entered) > l.config.StuckAfter {
		return fmt.Errorf("syncloop: a step has been going on for %s", now.Sub(entered))
	}
	return nil
}

// beginStep notes that a step begins, and for whom.
func (l *Loop) beginStep(at time.Time) (flushes []executor.Latch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.entered = at
	flushes, l.mu.flushes = l.mu.flushes, nil
	return flushes
}

// endStep notes that it has ended.
func (l *Loop) endStep(flushes []executor.Latch) {
	l.mu.Lock()
	l.mu.entered = time.Time{}
	l.mu.Unlock()
	for _, f := range flushes {
		f.Open()
	}
}

// Flush returns when a step that began after the call has ended: whatever a
// handler was in the middle of is done then. It returns ErrStopped when Run has
// ended, and the context's error if that ends first; before Run it waits. It
// must not be called by a handler.
func (l *Loop) Flush(ctx context.Context) error {
	done := l.executor.NewLatch()
	l.mu.Lock()
	ended := l.mu.ended
	l.mu.flushes = append(l.mu.flushes, done)
	l.mu.Unlock()
	if ended {
		return ErrStopped
	}
	l.wake.Signal()
	if err := done.Wait(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ended {
		return ErrStopped
	}
	return nil
}

// terminatePod releases those who wait for a step that will not come.
func (l *Loop) releaseFlushes() {
	l.mu.Lock()
	l.mu.ended = true
	flushes := l.mu.flushes
	l.mu.flushes = nil
	l.mu.Unlock()
	for _, f := range flushes {
		f.Open()
	}
}

// waitUntilReady waits until the first snapshots are there: of the desired state from each
// source, and of the runtime. Deciding early could reject running pods in favour of new
// ones.
func (l *Loop) waitUntilReady(ctx context.Context) {
	end := l.executor.Now().Add(l.config.StartTimeout)
	for !l.config.ReadyToStart() {
		if signalled, err := l.wake.WaitUntil(ctx, end); err != nil || !signalled {
			return
		}
	}
}

// handleUpdates hands changes of the desired state to their handlers (SL-7). Removals and updates come
// first, because they make room: admission is asked when they have taken effect. Then the added
// pods of all sources follow in one call, so that the order of the sources does not matter. An
// update of a pod that was added in the same batch follows the additions.
func (l *Loop) handleUpdates(ctx context.Context, updates []podmanager.PodUpdate) {
	var added []*v1.Pod
	defer l.requestDeadlineUpdates(updates)
	for _, u := range updates {
		switch u.Op {
		case podmanager.REMOVE:
			l.callHandler(ctx, "HandlePodRemoves", l.config.Handler.HandlePodRemoves, u.Pods)
		case podmanager.ADD:
			added = append(added, u.Pods...)
		}
	}
	later := l.handleKnownPods(ctx, updates, added)
	l.callHandler(ctx, "HandlePodAdditions", l.config.Handler.HandlePodAdditions, added)
	l.handleKnownPods(ctx, later, nil)
}

// update passes changes of known pods to the handler, and returns the changes of pods that have to be added
// first.
func (l *Loop) handleKnownPods(ctx context.Context, updates []podmanager.PodUpdate, added []*v1.Pod) (later []podmanager.PodUpdate) {
	isAdded := make(map[types.UID]bool, len(added))
	for _, pod := range added {
		isAdded[pod.UID] = true
	}
	for _, u := range updates {
		handler, name := l.config.Handler.HandlePodUpdates, "HandlePodUpdates"
		switch u.Op {
		case podmanager.REMOVE, podmanager.ADD:
			continue
		case podmanager.UPDATE, podmanager.DELETE:
		case podmanager.RECONCILE:
			handler, name = l.config.Handler.HandlePodReconcile, "HandlePodReconcile"
		default:
			l.config.Log.Error("a source sent an operation that the loop does not take", "source", u.Source, "op", u.Op)
			continue
		}
		now, after := u, u
		now.Pods, after.Pods = nil, nil
		for _, pod := range u.Pods {
			if isAdded[pod.UID] {
				after.Pods = append(after.Pods, pod)
			} else {
				now.Pods = append(now.Pods, pod)
			}
		}
		l.callHandler(ctx, name, handler, now.Pods)
		if len(after.Pods) > 0 {
			later = append(later, after)
		}
	}
	return later
}

// requestDeadlineUpdates notes that they may have changed, as the handlers know by now.
func (l *Loop) requestDeadlineUpdates(updates []podmanager.PodUpdate) {
	if l.config.Deadlines == nil {
		return
	}
	for _, u := range updates {
		for _, pod := range u.Pods {
			l.config.Deadlines.RequestUpdate(pod.UID)
		}
	}
}

// callHandler calls a handler. If that panics the call is lost, and housekeeping,
// which compares the whole snapshot, is asked to make it good.
func (l *Loop) callHandler(ctx context.Context, call string, handler func(context.Context, []*v1.Pod), pods []*v1.Pod) {
	if len(pods) == 0 {
		return // A source has spoken, and that is all.
	}
	if err := l.guard.Call("SyncHandler."+call, func() { handler(ctx, pods) }); err != nil {
		l.config.Log.Error("a handler panicked", "pods", fullNames(pods), "err", err)
		l.markHousekeepingNeeded()
	}
}

// observePod syncs the pods for which the runtime shows a change. A pod that has only lost records needs no sync
// (SL-9). Housekeeping handles a pod that is not desired.
func (l *Loop) handleRuntimeChanges(ctx context.Context, changed []pleg.Change) {
	for _, c := range changed {
		l.markHousekeepingNeeded()
		if pod, ok := l.config.Desired.GetPodByUID(c.UID); ok && c.Events != pleg.ContainerRemoved {
			l.callHandler(ctx, "HandlePodChanges", l.onChange, []*v1.Pod{pod})
		}
	}
}

func (l *Loop) syncPod(ctx context.Context, uid types.UID) {
	if pod, ok := l.config.Desired.GetPodByUID(uid); ok {
		l.callHandler(ctx, "HandlePodSyncs", l.config.Handler.HandlePodSyncs, []*v1.Pod{pod})
	}
}

// debounce is how long a change waits for others that belong to it: a pod's end
// reaches the loop from its worker, from the runtime and from its source, in any
// order. One cleanup follows them all.
const debounce = 100 * time.Millisecond

// runDueHousekeeping runs housekeeping if something changed, has settled, and the last one
// is long enough ago; otherwise it says when it should.
func (l *Loop) runDueHousekeeping(ctx context.Context) (next time.Time, timed bool) {
	now := l.executor.Now()
	at, wanted := l.nextHousekeeping()
	if !wanted || now.Before(at) {
		return at, wanted
	}
	l.mu.Lock()
	l.mu.touched = time.Time{}
	l.mu.Unlock()
	err := l.callCleanups(ctx)
	done := l.executor.Now()
	l.earliestHousekeeping = done.Add(l.config.HousekeepingPeriod)
	l.config.Hooks.Cleanup(done.Sub(now), err)
	if err != nil {
		l.config.Log.Error("housekeeping failed and will be tried again", "err", err)
		l.markHousekeepingNeeded()
	}
	return l.nextHousekeeping()
}

func (l *Loop) callCleanups(ctx context.Context) (err error) {
	defer l.guard.Recover("SyncHandler.HandlePodCleanups", &err)
	return l.config.Handler.HandlePodCleanups(ctx)
}

// nextHousekeeping says whether and when housekeeping is due.
func (l *Loop) nextHousekeeping() (at time.Time, wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.touched.IsZero() {
		return time.Time{}, false
	}
	if at = l.mu.touched.Add(debounce); at.Before(l.earliestHousekeeping) {
		at = l.earliestHousekeeping
	}
	return at, true
}
