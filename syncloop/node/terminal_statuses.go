package node

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

// How long an ending that could not be saved waits for the next attempt.
const (
	firstResave = 10 * time.Second
	lastResave  = 5 * time.Minute
	resetResave = 10 * time.Minute // after so long the next failure is the first
)

// terminalStatuses is Config.TerminalStatuses. A status that could not be saved, because the
// disk is full, is tried again with a backoff until it is saved, is dropped, or its pod is
// gone. No pod is synced for that. What the loop asks to be dropped is dropped likewise.
type terminalStatuses struct {
	TerminalStatuses
	guard    *contain.Guard
	known    func(types.UID) bool
	log      *slog.Logger
	executor executor.Executor
	wake     executor.Event
	mu       struct {
		sync.Mutex
		// busy are the pods of which a call of TerminalStatuses changes something now: these
		// calls come one after the other. No lock is held meanwhile.
		busy    map[types.UID]executor.Latch
		unsaved map[types.UID]unsaved
		// drops are the pods of which the ending is to be dropped; true: an attempt has failed.
		drops   map[types.UID]bool
		backoff backoff.State // zero: the last attempt was a success
		due     time.Time     // of the next attempt, after a failure
	}
}

// unsaved is how a pod has ended, as it should be on the disk.
type unsaved struct {
	pod    *v1.Pod
	status *v1.PodStatus
}

func newTerminalStatuses(e TerminalStatuses, guard *contain.Guard, known func(types.UID) bool, clk clock.Clock) *terminalStatuses {
	kept := &terminalStatuses{TerminalStatuses: e, guard: guard, known: known, log: guard.Log(), executor: executor.Over(clk)}
	kept.wake = kept.executor.NewEvent()
	kept.mu.unsaved = make(map[types.UID]unsaved)
	kept.mu.drops = make(map[types.UID]bool)
	kept.mu.busy = make(map[types.UID]executor.Latch)
	return kept
}

// enter waits until no other call changes something of a pod, and returns what lets the
// next one in. Its error is that of ctx, or the crash of a simulated process.
func (e *terminalStatuses) enter(ctx context.Context, uid types.UID) (leave func(), err error) {
	own := e.executor.NewLatch()
	for {
		other := e.claim(uid, own)
		if other == nil {
			return func() {
				e.mu.Lock()
				delete(e.mu.busy, uid)
				e.mu.Unlock()
				own.Open()
			}, nil
		}
		if err := other.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// claim marks a pod as busy, or returns what opens when it may be claimed again.
func (e *terminalStatuses) claim(uid types.UID, own executor.Latch) (other executor.Latch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if other, busy := e.mu.busy[uid]; busy {
		return other
	}
	e.mu.busy[uid] = own
	return nil
}

// Save implements podsync.TerminalStatuses. After an error the ending is tried again later.
func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	leave, err := e.enter(context.Background(), pod.UID) // The other call has an end.
	if err != nil {
		return err
	}
	defer leave()
	if err = e.save(pod, status); err == nil {
		e.forget(pod.UID)
		return nil
	}
	if e.remember(unsaved{pod, status.DeepCopy()}) {
		e.wake.Signal()
	}
	return err
}

// requestDrop has Run drop the ending of a former incarnation of a UID. A Save that comes
// before Run does so stands. It does not block.
func (e *terminalStatuses) requestDrop(uid types.UID) {
	e.mu.Lock()
	delete(e.mu.unsaved, uid)
	e.mu.drops[uid] = false
	e.mu.Unlock()
	e.wake.Signal()
}

// remember keeps an ending for the next attempt. first: no attempt was due before.
func (e *terminalStatuses) remember(u unsaved) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.unsaved[u.pod.UID] = u
	if first = e.mu.due.IsZero(); first {
		e.postponeLocked()
	}
	return first
}

// save hands an ending over; a panic there is an error, after which it is tried again.
func (e *terminalStatuses) save(pod *v1.Pod, status *v1.PodStatus) (err error) {
	defer e.guard.Recover("TerminalStatuses.Save", &err)
	return e.TerminalStatuses.Save(pod, status)
}

// Drop implements podsync.TerminalStatuses.
func (e *terminalStatuses) Drop(uid types.UID) error {
	leave, err := e.enter(context.Background(), uid)
	if err != nil {
		return err
	}
	defer leave()
	e.forget(uid)
	return e.TerminalStatuses.Drop(uid)
}

// Remove drops the ending of a pod that is gone, for the collector of directories.
func (e *terminalStatuses) Remove(ctx context.Context, uid types.UID, gone func(types.UID) bool) error {
	leave, err := e.enter(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	e.forget(uid)
	if store, ok := e.TerminalStatuses.(remover); ok {
		return store.Remove(ctx, uid, gone)
	}
	return e.TerminalStatuses.Drop(uid)
}

func (e *terminalStatuses) forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.unsaved, uid)
	delete(e.mu.drops, uid)
}

// postponeLocked sets the time of the next attempt.
func (e *terminalStatuses) postponeLocked() {
	now := e.executor.Now()
	e.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(e.mu.backoff, now)
	e.mu.due = now.Add(e.mu.backoff.Delay)
}

// Run drops what it is asked to drop, and repeats what has failed, until ctx ends, and once
// more then. While nothing is left it waits for the next request or failure.
func (e *terminalStatuses) Run(ctx context.Context) error {
	for {
		due, err := e.pause(ctx)
		if err != nil {
			break
		}
		e.attempt(due)
	}
	if ctx.Err() != nil { // Otherwise the process has crashed, in a simulation.
		e.attempt(true)
	}
	return nil
}

// pause waits until something is to be dropped, or until the next attempt after a failure
// is due.
func (e *terminalStatuses) pause(ctx context.Context) (due bool, err error) {
	for {
		at, timed, requested := e.next()
		if timed && !at.After(e.executor.Now()) {
			return true, nil
		}
		if requested {
			return false, nil
		}
		if err := e.waitUntil(ctx, at, timed); err != nil {
			return false, err
		}
	}
}

// waitUntil waits for a wake-up, or until a time if there is one.
func (e *terminalStatuses) waitUntil(ctx context.Context, at time.Time, timed bool) error {
	if !timed {
		return e.wake.Wait(ctx)
	}
	within, cancel := e.executor.WithDeadline(ctx, at)
	defer cancel()
	err := e.wake.Wait(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// next returns when the next attempt after a failure is due, false if nothing has failed,
// and whether a drop was requested that was not attempted yet.
func (e *terminalStatuses) next() (due time.Time, timed, requested bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, failed := range e.mu.drops {
		requested = requested || !failed
	}
	return e.mu.due, !e.mu.due.IsZero(), requested
}

// attempt drops what is to be dropped; if due, also what could not be dropped before, and
// it tries to save every ending that is not saved. A failure keeps no other pod from it.
func (e *terminalStatuses) attempt(due bool) {
	failed := false
	for _, uid := range e.toDrop(due) {
		failed = e.dropRequested(uid) != nil || failed
	}
	if due {
		for _, uid := range e.waiting() {
			failed = e.resave(uid) != nil || failed
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.mu.unsaved) == 0 && len(e.mu.drops) == 0:
		e.mu.backoff, e.mu.due = backoff.State{}, time.Time{}
	case due && !failed: // Others have come meanwhile.
		e.mu.backoff = backoff.State{}
		e.postponeLocked()
	case due, failed && e.mu.due.IsZero():
		e.postponeLocked()
	}
}

// toDrop lists the pods of which the ending is to be dropped now, in order.
func (e *terminalStatuses) toDrop(due bool) (uids []types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(e.mu.drops)) {
		if due || !e.mu.drops[uid] {
			uids = append(uids, uid)
		}
	}
	return uids
}

// dropRequested drops an ending, unless the end of a newer incarnation was saved, or it was
// dropped, meanwhile.
func (e *terminalStatuses) dropRequested(uid types.UID) (err error) {
	leave, err := e.enter(context.Background(), uid)
	if err != nil {
		return err
	}
	defer leave()
	e.mu.Lock()
	failed, ok := e.mu.drops[uid]
	if ok {
		e.mu.drops[uid] = true
	}
	e.mu.Unlock()
	if !ok {
		return nil
	}
	if err := e.drop(uid); err != nil {
		if !failed {
			e.log.Error("how a former pod of this UID has ended could not be dropped: if the agent is started again the pod may not run", "uid", uid, "err", err)
		}
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.drops, uid)
	return nil
}

// drop drops an ending; a panic there is an error, after which it is tried again.
func (e *terminalStatuses) drop(uid types.UID) (err error) {
	defer e.guard.Recover("TerminalStatuses.Drop", &err)
	return e.TerminalStatuses.Drop(uid)
}

// waiting are the pods of which the ending is not saved, in an order that is the same
// in every simulation with the same seed.
func (e *terminalStatuses) waiting() []types.UID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.mu.unsaved))
}

// resave tries one ending again, unless it is saved or dropped by now, or of no use: a
// pod that is not known comes back as a new one.
func (e *terminalStatuses) resave(uid types.UID) error {
	leave, err := e.enter(context.Background(), uid)
	if err != nil {
		return err
	}
	defer leave()
	e.mu.Lock()
	u, ok := e.mu.unsaved[uid]
	e.mu.Unlock()
	if !ok {
		return nil
	}
	if !e.known(uid) {
		e.forget(uid)
		return nil
	}
	if err := e.save(u.pod, u.status); err != nil {
		e.log.Debug("how a pod has ended could still not be kept", "pod", podmanager.FullName(u.pod), "uid", uid, "err", err)
		return err
	}
	e.forget(uid)
	e.log.Info("how a pod has ended is kept now", "pod", podmanager.FullName(u.pod), "uid", uid)
	return nil
}
