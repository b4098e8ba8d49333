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

// Loop waits until something has to be done and calls the handler for it. Everything that wakes the loop is
// level-triggered: the loop reads the current state when it wakes. So no event is lost while the loop is busy,
// and nothing runs while it is idle.
type Loop struct {
	config       Config
	guard        *contain.Guard
	executor     executor.Executor
	wake         executor.Event
	changes      pleg.Subscription
	syncRequests *dirty.Set[struct{}]
	probes       probeResults
	// onChange is the handler's method for changes of the runtime.
	onChange       func(ctx context.Context, pods []*v1.Pod)
	waitingHandler WaitingHandler // nil if the handler is no WaitingHandler
	// earliestHousekeeping is the earliest time of the next housekeeping. Only Step uses it.
	earliestHousekeeping time.Time
	ran                  atomic.Bool

	mu struct {
		sync.Mutex
		changedAt time.Time        // the first change since the last housekeeping; zero if nothing has changed
		stepStart time.Time        // the start of the current step; zero between steps
		flushes   []executor.Latch // opened when the next step has returned
		stopped   bool
	}
	// Buffers of Step, reused by the next step.
	changed   []pleg.Change
	requested []dirty.Entry[struct{}]
}

// ErrStopped is returned by the methods of a loop whose Run has returned.
var ErrStopped = errors.New("syncloop: Run has returned")

// New returns a loop that does nothing until Run or Step is called.
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

	// A source may become complete without an update, so each signal of a source requests housekeeping.
	config.Updates.SetWake(l.RequestHousekeeping)
	if config.Deadlines != nil {
		config.Deadlines.wake = l.wake.Signal
	}
	if l.waitingHandler, _ = config.Handler.(WaitingHandler); l.waitingHandler != nil {
		l.waitingHandler.SetWake(l.wake.Signal, l.RequestHousekeeping)
	}
	l.mu.changedAt = t.Now() // The first housekeeping runs even if nothing changes.
	return l, nil
}

// Run calls Step whenever something has to be done, until the context is cancelled. It returns nil then. A
// second call returns runtime.ErrSecondRun.
//
// The first step runs when Config.ReadyToStart returns true, or after Config.StartTimeout.
func (l *Loop) Run(ctx context.Context) error {
	if l.ran.Swap(true) {
		return fmt.Errorf("syncloop: %w", runtime.ErrSecondRun)
	}
	defer l.changes.Close()
	defer l.stopAndReleaseFlushes()
	if l.waitingHandler != nil {
		defer l.waitingHandler.StopWaiting()
	}
	l.waitUntilReadyOrTimeout(ctx)
	for ctx.Err() == nil {
		if next, timed := l.Step(ctx); l.waitForNextStep(ctx, next, timed) != nil {
			break
		}
	}
	return nil
}

// waitForNextStep waits until the next step is due or the loop is woken. If timed is false, only a wake-up ends
// the wait. It returns an error if the context is cancelled.
func (l *Loop) waitForNextStep(ctx context.Context, next time.Time, timed bool) error {
	if !timed {
		return l.wake.Wait(ctx)
	}
	_, err := l.wake.WaitUntil(ctx, next)
	return err
}

// Step handles everything that is due, in a fixed order: desired state, changes of the runtime, probe results,
// requested syncs, deadlines, waiting pods, housekeeping. It returns the time of the next step if nothing
// happens before; timed is false if no time is set. Step is for callers that do not call Run. Calls must not
// overlap.
func (l *Loop) Step(ctx context.Context) (next time.Time, timed bool) {
	flushes := l.beginStepAndTakeFlushes(l.executor.Now())
	defer l.endStepAndReleaseFlushes(flushes)
	l.handleUpdates(ctx, l.config.Updates.TakeAll(nil))
	l.changed = l.changes.TakeAll(l.changed[:0])
	l.requestHousekeepingAndSyncChangedPods(ctx, l.changed)
	l.storeProbeResultsAndSyncPods(ctx)
	l.requested = l.syncRequests.TakeAll(l.requested[:0])
	for _, request := range l.requested {
		l.syncPodIfDesired(ctx, request.UID)
	}
	next, timed = l.terminateExpiredPods()
	if at, due := l.handleWaitingPods(ctx); due && (!timed || at.Before(next)) {
		next, timed = at, true
	}
	if at, needed := l.runDueHousekeeping(ctx); needed && (!timed || at.Before(next)) {
		next, timed = at, true
	}
	return next, timed
}

// terminateExpiredPods terminates the pods whose active deadline has passed, and returns the time of the next
// deadline. timed is false if there is none.
func (l *Loop) terminateExpiredPods() (next time.Time, timed bool) {
	if l.config.Deadlines == nil {
		return time.Time{}, false
	}
	return l.config.Deadlines.updateQueueAndTerminateDuePods()
}

// handleWaitingPods calls the handler's HandleWaiting, and returns the time at which it must be called again.
// After a panic it logs the error and requests housekeeping. timed is false if no time is set or the handler
// has no HandleWaiting.
func (l *Loop) handleWaitingPods(ctx context.Context) (next time.Time, timed bool) {
	if l.waitingHandler == nil {
		return time.Time{}, false
	}
	if err := l.guard.Call("SyncHandler.HandleWaiting", func() { next, timed = l.waitingHandler.HandleWaiting(ctx) }); err != nil {
		l.config.Log.Error("waiting pods could not be handled", "err", err)
		l.markHousekeepingNeeded()
	}
	return next, timed
}

// RequestSync requests a sync of a pod. It never blocks. Any goroutine may call it, any number of times.
func (l *Loop) RequestSync(uid types.UID) { l.syncRequests.Add(uid, struct{}{}) }

// RequestHousekeeping requests housekeeping, for example because a worker has finished. It never blocks. Any
// goroutine may call it.
func (l *Loop) RequestHousekeeping() {
	l.markHousekeepingNeeded()
	l.wake.Signal()
}

// markHousekeepingNeeded requests housekeeping, unless it is requested already. It does not wake the loop; the
// loop calls it within a step, and each step ends with the time of the next housekeeping.
func (l *Loop) markHousekeepingNeeded() {
	now := l.executor.Now()
	l.mu.Lock()
	if l.mu.changedAt.IsZero() {
		l.mu.changedAt = now
	}
	l.mu.Unlock()
}

// Healthy returns an error if one step takes longer than StuckAfter, and for five minutes after each contained
// panic. The error names the call that panicked. An idle loop is healthy.
func (l *Loop) Healthy() error { return errors.Join(l.Stuck(), l.guard.Healthy()) }

// Stuck returns an error if one step takes longer than StuckAfter. It is the part of Healthy for a watchdog:
// only a restart of the process helps a stuck step, but a contained panic needs none.
func (l *Loop) Stuck() error {
	now := l.executor.Now()
	l.mu.Lock()
	stepStart := l.mu.stepStart
	l.mu.Unlock()
	if !stepStart.IsZero() && now.Sub(stepStart) > l.config.StuckAfter {
		return fmt.Errorf("syncloop: one step has been running for %s", now.Sub(stepStart))
	}
	return nil
}

// beginStepAndTakeFlushes stores the start time of a step. It returns the latches of the Flush calls that wait
// for a step, and removes them from the loop.
func (l *Loop) beginStepAndTakeFlushes(at time.Time) (flushes []executor.Latch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.stepStart = at
	flushes, l.mu.flushes = l.mu.flushes, nil
	return flushes
}

// endStepAndReleaseFlushes stores that no step runs, and lets the given Flush calls return.
func (l *Loop) endStepAndReleaseFlushes(flushes []executor.Latch) {
	l.mu.Lock()
	l.mu.stepStart = time.Time{}
	l.mu.Unlock()
	for _, f := range flushes {
		f.Open()
	}
}

// Flush waits until a step that began after the call has returned, so each handler call that was in progress
// is complete. It returns ErrStopped if Run has returned, and the error of the context if the context is
// cancelled first. Before Run it waits. A handler must not call it.
func (l *Loop) Flush(ctx context.Context) error {
	done := l.executor.NewLatch()
	l.mu.Lock()
	stopped := l.mu.stopped
	l.mu.flushes = append(l.mu.flushes, done)
	l.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	l.wake.Signal()
	if err := done.Wait(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.stopped {
		return ErrStopped
	}
	return nil
}

// stopAndReleaseFlushes marks the loop as stopped and lets all waiting Flush calls return, because no step
// follows.
func (l *Loop) stopAndReleaseFlushes() {
	l.mu.Lock()
	l.mu.stopped = true
	flushes := l.mu.flushes
	l.mu.flushes = nil
	l.mu.Unlock()
	for _, f := range flushes {
		f.Open()
	}
}

// waitUntilReadyOrTimeout waits until ReadyToStart returns true, StartTimeout is over or the context is
// cancelled. A loop that starts before the first listing of the sources and of the runtime could reject running
// pods in favour of new pods.
func (l *Loop) waitUntilReadyOrTimeout(ctx context.Context) {
	end := l.executor.Now().Add(l.config.StartTimeout)
	for !l.config.ReadyToStart() {
		if signalled, err := l.wake.WaitUntil(ctx, end); err != nil || !signalled {
			return
		}
	}
}

// handleUpdates calls the handlers for changes of the desired pods: first for removals, then for updates, then
// once for all additions, then for updates of the pods just added (SL-7). It also requests a new computation of
// each changed pod's active deadline.
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
	later := l.handleUpdatesAndReconciles(ctx, updates, added)
	l.callHandler(ctx, "HandlePodAdditions", l.config.Handler.HandlePodAdditions, added)
	l.handleUpdatesAndReconciles(ctx, later, nil)
}

// handleUpdatesAndReconciles calls HandlePodUpdates or HandlePodReconcile for the pods of each update, but not
// for pods in added. It returns the updates of the pods in added, which the caller handles after their
// addition. It ignores removals and additions, and logs an unknown operation.
func (l *Loop) handleUpdatesAndReconciles(ctx context.Context, updates []podmanager.PodUpdate, added []*v1.Pod) (later []podmanager.PodUpdate) {
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
			l.config.Log.Error("a source sent an unknown operation", "source", u.Source, "op", u.Op)
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

// requestDeadlineUpdates requests a new computation of the active deadline of each pod in updates. It does
// nothing if the loop has no Deadlines.
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

// callHandler calls a handler with pods. It does nothing without pods. After a panic of the handler it logs the
// error and requests housekeeping, which compares all pods and so replaces the failed call.
func (l *Loop) callHandler(ctx context.Context, call string, handler func(context.Context, []*v1.Pod), pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	if err := l.guard.Call("SyncHandler."+call, func() { handler(ctx, pods) }); err != nil {
		l.config.Log.Error("a handler panicked", "pods", fullNames(pods), "err", err)
		l.markHousekeepingNeeded()
	}
}

// requestHousekeepingAndSyncChangedPods requests housekeeping for each change in the runtime. It syncs the
// changed pod if the pod is desired. It does not sync a pod whose only change is a removed container. (SL-9)
func (l *Loop) requestHousekeepingAndSyncChangedPods(ctx context.Context, changed []pleg.Change) {
	for _, c := range changed {
		l.markHousekeepingNeeded()
		if pod, ok := l.config.Desired.GetPodByUID(c.UID); ok && c.Events != pleg.ContainerRemoved {
			l.callHandler(ctx, "HandlePodChanges", l.onChange, []*v1.Pod{pod})
		}
	}
}

// syncPodIfDesired calls HandlePodSyncs for the pod with the UID. It does nothing if the pod is not desired.
func (l *Loop) syncPodIfDesired(ctx context.Context, uid types.UID) {
	if pod, ok := l.config.Desired.GetPodByUID(uid); ok {
		l.callHandler(ctx, "HandlePodSyncs", l.config.Handler.HandlePodSyncs, []*v1.Pod{pod})
	}
}

// debounce is how long housekeeping waits after a change for further changes. The end of a pod reaches the
// loop from its worker, the runtime and its source, in any order, and one housekeeping follows them all.
const debounce = 100 * time.Millisecond

// runDueHousekeeping runs housekeeping if it is due, reports its duration and error to the hook, and returns
// the time of the next housekeeping. After an error it logs the error and requests housekeeping again. timed is
// false if none is requested.
func (l *Loop) runDueHousekeeping(ctx context.Context) (next time.Time, timed bool) {
	now := l.executor.Now()
	at, wanted := l.nextHousekeeping()
	if !wanted || now.Before(at) {
		return at, wanted
	}
	l.mu.Lock()
	l.mu.changedAt = time.Time{}
	l.mu.Unlock()
	err := l.callCleanups(ctx)
	done := l.executor.Now()
	l.earliestHousekeeping = done.Add(l.config.HousekeepingPeriod)
	l.config.Hooks.Cleanup(done.Sub(now), err)
	if err != nil {
		l.config.Log.Error("housekeeping failed and is retried", "err", err)
		l.markHousekeepingNeeded()
	}
	return l.nextHousekeeping()
}

// callCleanups calls HandlePodCleanups and returns its error, or its panic as an error.
func (l *Loop) callCleanups(ctx context.Context) (err error) {
	defer l.guard.Recover("SyncHandler.HandlePodCleanups", &err)
	return l.config.Handler.HandlePodCleanups(ctx)
}

// nextHousekeeping returns the time of the next housekeeping: debounce after the first request, but not before
// HousekeepingPeriod has passed since the last one. needed is false if none is requested.
func (l *Loop) nextHousekeeping() (at time.Time, needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.changedAt.IsZero() {
		return time.Time{}, false
	}
	if at = l.mu.changedAt.Add(debounce); at.Before(l.earliestHousekeeping) {
		at = l.earliestHousekeeping
	}
	return at, true
}
