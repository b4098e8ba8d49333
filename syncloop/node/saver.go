package node

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Delays between attempts to save.
const (
	firstResave = 10 * time.Second
	lastResave  = 5 * time.Minute
	resetResave = 10 * time.Minute // after this time without a failure the delay is firstResave again
)

// saver changes the stored state of pods later than requested: because the disk was full, because
// another change came shortly before, or because the loop must not wait for a disk. Each pod has at
// most one pending change, the newest. A failed change is retried with a backoff that all pods share.
// Changes of one pod never run concurrently, and no lock is held while they run.
type saver struct {
	guard    *contain.Guard
	log      *slog.Logger
	executor executor.Executor
	wake     executor.Event
	mu       struct {
		sync.Mutex
		busy    map[types.UID]executor.Latch // pods whose stored state is being changed
		pending map[types.UID]*pendingChange
		backoff backoff.State // zero: the last attempt succeeded
		due     time.Time     // time of the next retry of failed changes
	}
}

// pendingChange is a change to the stored state of a pod that has not been made.
type pendingChange struct {
	apply  func() error
	at     time.Time // due time, unless the change has failed
	failed bool
}

func newSaver(guard *contain.Guard, clk clock.Clock) *saver {
	s := &saver{guard: guard, log: guard.Log(), executor: executor.Over(clk)}
	s.wake = s.executor.NewEvent()
	s.mu.busy, s.mu.pending = make(map[types.UID]executor.Latch), make(map[types.UID]*pendingChange)
	return s
}

// lockPod locks the stored state of a pod, after it has waited until no other call has it locked. leave unlocks
// it. lockPod returns an error if ctx ends or a simulated process crashes.
func (s *saver) lockPod(ctx context.Context, uid types.UID) (leave func(), err error) {
	own := s.executor.NewLatch()
	for {
		other := s.tryLockPod(uid, own)
		if other == nil {
			return func() {
				s.mu.Lock()
				delete(s.mu.busy, uid)
				s.mu.Unlock()
				own.Open()
			}, nil
		}
		if err := other.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// removeIfGone cancels the pending change of a pod and deletes its stored state, if gone returns true while no other call
// changes the state. It calls the method Remove of the store, or drop if the store has no such method.
func (s *saver) removeIfGone(ctx context.Context, uid types.UID, gone func(types.UID) bool, store any, drop func(types.UID) error) error {
	leave, err := s.lockPod(ctx, uid)
	if err != nil {
		return err
	}
	defer leave()
	if !gone(uid) {
		return nil
	}
	s.cancelPending(uid)
	if remover, ok := store.(conditionalRemover); ok {
		return remover.Remove(ctx, uid, gone)
	}
	return drop(uid)
}

// tryLockPod locks the stored state of a pod with the latch and returns nil. If another call has locked it,
// tryLockPod returns that call's latch, which opens when the state is unlocked.
func (s *saver) tryLockPod(uid types.UID, latch executor.Latch) (lockedBy executor.Latch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lockedBy, busy := s.mu.busy[uid]; busy {
		return lockedBy
	}
	s.mu.busy[uid] = latch
	return nil
}

// applyNowOrRetryLater calls the function apply, which changes the stored state of a pod, at once. After a
// success the pending change of the pod is deleted; after an error the function retry becomes the pending
// change. A pending change that was set meanwhile stays.
func (s *saver) applyNowOrRetryLater(uid types.UID, apply, retry func() error) error {
	leave, err := s.lockPod(context.Background(), uid) // The other call returns eventually.
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	before := s.mu.pending[uid]
	s.mu.Unlock()
	err = apply()
	if s.updatePendingAfterApply(uid, before, err != nil, retry) {
		s.wake.Signal()
	}
	return err
}

// updatePendingAfterApply deletes the pending change of a pod, or replaces it by retry if the applied change
// failed. It does nothing if the pending change is no longer before, because a newer change must stay. wake is
// true if it has set the time of the next retry, which Run must wait for.
func (s *saver) updatePendingAfterApply(uid types.UID, before *pendingChange, failed bool, retry func() error) (wake bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.pending[uid] != before {
		return false
	}
	if !failed {
		delete(s.mu.pending, uid)
		return false
	}
	s.mu.pending[uid] = &pendingChange{apply: retry, failed: true}
	if wake = s.mu.due.IsZero(); wake {
		s.setNextRetryLocked()
	}
	return wake
}

// setPendingChange stores the function apply as the pending change of a pod, in place of an earlier one, and
// wakes Run. Run calls the function at the given time.
func (s *saver) setPendingChange(uid types.UID, at time.Time, apply func() error) {
	s.mu.Lock()
	s.mu.pending[uid] = &pendingChange{apply: apply, at: at}
	s.mu.Unlock()
	s.wake.Signal()
}

// cancelPending deletes the pending change of a pod. wasPending is false if there was none.
func (s *saver) cancelPending(uid types.UID) (wasPending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pending := s.mu.pending[uid]
	delete(s.mu.pending, uid)
	return pending
}

// setNextRetryLocked sets the time of the next retry of all failed changes, with an exponential back-off.
func (s *saver) setNextRetryLocked() {
	now := s.executor.Now()
	s.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(s.mu.backoff, now)
	s.mu.due = now.Add(s.mu.backoff.Delay)
}

// Run applies pending changes when they are due, until ctx ends. Then it applies all remaining changes at once.
func (s *saver) Run(ctx context.Context) error {
	for {
		if err := s.waitForNextDue(ctx); err != nil {
			break
		}
		s.applyDueChanges(false)
	}
	if ctx.Err() != nil { // Otherwise the process has crashed, in a simulation.
		s.applyDueChanges(true)
	}
	return nil
}

// waitForNextDue waits until a pending change is due. It returns an error if ctx ends or a simulated process
// crashes.
func (s *saver) waitForNextDue(ctx context.Context) error {
	for {
		at, timed := s.nextDue()
		if timed && !at.After(s.executor.Now()) {
			return nil
		}
		var err error
		if timed {
			_, err = s.wake.WaitUntil(ctx, at)
		} else {
			err = s.wake.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// nextDue returns the earliest time at which a pending change or the retry of failed changes is due. timed is
// false if there is no such time.
func (s *saver) nextDue() (at time.Time, timed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, timed = s.mu.due, !s.mu.due.IsZero()
	for _, p := range s.mu.pending {
		if !p.failed && (!timed || p.at.Before(at)) {
			at, timed = p.at, true
		}
	}
	return at, timed
}

// applyDueChanges applies the changes that are due, or all pending changes if evenIfNotDue is true. A failure
// does not stop it. It then sets the time of the next retry if one is needed, or resets the back-off if no
// failed change is left.
func (s *saver) applyDueChanges(evenIfNotDue bool) {
	due, retriesFailed := s.duePods(evenIfNotDue)
	failed := false
	for _, uid := range due {
		failed = s.applyPending(uid, evenIfNotDue) != nil || failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch left := s.hasFailedChangeLocked(); {
	case !left:
		s.mu.backoff, s.mu.due = backoff.State{}, time.Time{}
	case retriesFailed && !failed: // The failed changes were added meanwhile.
		s.mu.backoff = backoff.State{}
		s.setNextRetryLocked()
	case retriesFailed, s.mu.due.IsZero():
		s.setNextRetryLocked()
	}
}

// hasFailedChangeLocked reports whether at least one pending change has failed and waits for a retry.
func (s *saver) hasFailedChangeLocked() bool {
	for _, p := range s.mu.pending {
		if p.failed {
			return true
		}
	}
	return false
}

// duePods returns the sorted UIDs of the pods whose change is due, or of all pods with a pending change if
// evenIfNotDue is true. retriesFailed is true if the time for retrying failed changes has come.
func (s *saver) duePods(evenIfNotDue bool) (due []types.UID, retriesFailed bool) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	retriesFailed = evenIfNotDue || !s.mu.due.IsZero() && !s.mu.due.After(now)
	for _, uid := range slices.Sorted(maps.Keys(s.mu.pending)) {
		if p := s.mu.pending[uid]; evenIfNotDue || p.failed && retriesFailed || !p.failed && !p.at.After(now) {
			due = append(due, uid)
		}
	}
	return due, retriesFailed
}

// applyPending applies the pending change of a pod and returns its error. It does nothing if there is none, or
// if the change is not due and evenIfNotDue is false. A failed change stays pending, marked as failed, unless a
// newer change has replaced it.
func (s *saver) applyPending(uid types.UID, evenIfNotDue bool) error {
	leave, err := s.lockPod(context.Background(), uid)
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	p := s.mu.pending[uid]
	s.mu.Unlock()
	if p == nil || !evenIfNotDue && !p.failed && p.at.After(s.executor.Now()) {
		return nil
	}
	err = p.apply()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.pending[uid] != p: // A newer change replaced it.
	case err != nil:
		p.failed = true
	default:
		delete(s.mu.pending, uid)
	}
	return err
}
