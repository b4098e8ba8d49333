package node

import (
	"context"
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
// gone. No pod is synced for that.
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
		backoff backoff.State // zero: the last attempt was a success
		due     time.Time
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
}

// postponeLocked sets the time of the next attempt.
func (e *terminalStatuses) postponeLocked() {
	now := e.executor.Now()
	e.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(e.mu.backoff, now)
	e.mu.due = now.Add(e.mu.backoff.Delay)
}

// Run saves what could not be saved before, until ctx ends, and once more then. While
// all is saved it waits for the next failure.
func (e *terminalStatuses) Run(ctx context.Context) error {
	for e.pause(ctx) == nil {
		e.again()
	}
	if ctx.Err() != nil { // Otherwise the process has crashed, in a simulation.
		e.again()
	}
	return nil
}

// pause waits until the next attempt is due.
func (e *terminalStatuses) pause(ctx context.Context) error {
	for {
		due, timed := e.next()
		if timed {
			return e.executor.Sleep(ctx, due.Sub(e.executor.Now()))
		}
		if err := e.wake.Wait(ctx); err != nil {
			return err
		}
	}
}

// next is when the next attempt is due; false if all is saved.
func (e *terminalStatuses) next() (due time.Time, timed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.due, !e.mu.due.IsZero()
}

// again tries to save every ending that is not saved. One that fails keeps no other
// from it.
func (e *terminalStatuses) again() {
	failed := false
	for _, uid := range e.waiting() {
		failed = e.resave(uid) != nil || failed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.mu.unsaved) == 0 {
		e.mu.backoff, e.mu.due = backoff.State{}, time.Time{}
		return
	}
	if !failed { // Others have come meanwhile.
		e.mu.backoff = backoff.State{}
	}
	e.postponeLocked()
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
