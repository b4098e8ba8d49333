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

// How long a change that could not be saved waits for the next attempt.
const (
	firstResave = 10 * time.Second
	lastResave  = 5 * time.Minute
	resetResave = 10 * time.Minute // after so long the next failure is the first
)

// saver makes changes to the stored state of pods that were put off: because the disk was full,
// because another change came shortly before, or because the loop may not wait for a disk. Each
// pod has one pending change at most, the newest. A failed change is made again with a backoff
// that all pods share. Changes of one pod are made one after the other, without a lock.
type saver struct {
	guard    *contain.Guard
	log      *slog.Logger
	executor executor.Executor
	wake     executor.Event
	mu       struct {
		sync.Mutex
		busy    map[types.UID]executor.Latch // of pods whose stored state a call changes now
		pending map[types.UID]*pendingChange
		backoff backoff.State // zero: the last attempt was a success
		due     time.Time     // of the next attempt at failed changes
	}
}

// pendingChange is a change to the stored state of a pod.
type pendingChange struct {
	apply  func() error
	at     time.Time // when it is to be made, unless it has failed
	failed bool
}

func newSaver(guard *contain.Guard, clk clock.Clock) *saver {
	s := &saver{guard: guard, log: guard.Log(), executor: executor.Over(clk)}
	s.wake = s.executor.NewEvent()
	s.mu.busy, s.mu.pending = make(map[types.UID]executor.Latch), make(map[types.UID]*pendingChange)
	return s
}

// lockPod waits until no other call changes the stored state of a pod. leave lets the next call
// in. The error is ctx's, or the crash of a simulated process.
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

// tryLockPod marks a pod as busy. If it is busy already, it returns the latch that opens when the
// other call has finished.
func (s *saver) tryLockPod(uid types.UID, own executor.Latch) (other executor.Latch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, busy := s.mu.busy[uid]; busy {
		return other
	}
	s.mu.busy[uid] = own
	return nil
}

// applyNow makes a change to the stored state of a pod at once, in place of its pending change. After
// an error, again makes the change later.
func (s *saver) applyNow(uid types.UID, apply, retry func() error) error {
	leave, err := s.lockPod(context.Background(), uid) // The other call has an end.
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	before := s.mu.pending[uid]
	s.mu.Unlock()
	err = apply()
	if s.recordResult(uid, before, err != nil, retry) {
		s.wake.Signal()
	}
	return err
}

// recordSyncerAction stores the result of a change that took the place of the pending change before. A
// change that was put off meanwhile is newer and stays. wake reports that Run has a new time to wait
// for.
func (s *saver) recordResult(uid types.UID, before *pendingChange, failed bool, retry func() error) (wake bool) {
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

// postpone puts a change off until a time, in place of the pending one. It does not block.
func (s *saver) postpone(uid types.UID, at time.Time, apply func() error) {
	s.mu.Lock()
	s.mu.pending[uid] = &pendingChange{apply: apply, at: at}
	s.mu.Unlock()
	s.wake.Signal()
}

// cancel drops the pending change of a pod, and reports whether there was one.
func (s *saver) cancel(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pending := s.mu.pending[uid]
	delete(s.mu.pending, uid)
	return pending
}

// setNextRetryLocked sets the time of the next attempt at failed changes.
func (s *saver) setNextRetryLocked() {
	now := s.executor.Now()
	s.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(s.mu.backoff, now)
	s.mu.due = now.Add(s.mu.backoff.Delay)
}

// Run makes pending changes when they are due, until ctx ends. Then it makes all that are left. It
// waits while there is no pending change.
func (s *saver) Run(ctx context.Context) error {
	for {
		if err := s.waitForNextDue(ctx); err != nil {
			break
		}
		s.applyDue(false)
	}
	if ctx.Err() != nil { // Otherwise the process has crashed, in a simulation.
		s.applyDue(true)
	}
	return nil
}

// waitForNextDue waits until a change is due.
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

// nextDue returns when a change is due; false if none was put off.
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

// applyDue makes the changes that are due, or all of them. After a failure it goes on with the other
// pods.
func (s *saver) applyDue(all bool) {
	due, again := s.listDue(all)
	failed := false
	for _, uid := range due {
		failed = s.applyPending(uid, all) != nil || failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch left := s.hasFailedLocked(); {
	case !left:
		s.mu.backoff, s.mu.due = backoff.State{}, time.Time{}
	case again && !failed: // Others have come meanwhile.
		s.mu.backoff = backoff.State{}
		s.setNextRetryLocked()
	case again, s.mu.due.IsZero():
		s.setNextRetryLocked()
	}
}

func (s *saver) hasFailedLocked() bool {
	for _, p := range s.mu.pending {
		if p.failed {
			return true
		}
	}
	return false
}

// listDue lists the pods whose change is due, in an order that is the same in every
// simulation with the same seed, and reports whether failed changes are among them.
func (s *saver) listDue(all bool) (due []types.UID, again bool) {
	now := s.executor.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	again = all || !s.mu.due.IsZero() && !s.mu.due.After(now)
	for _, uid := range slices.Sorted(maps.Keys(s.mu.pending)) {
		if p := s.mu.pending[uid]; all || p.failed && again || !p.failed && !p.at.After(now) {
			due = append(due, uid)
		}
	}
	return due, again
}

// applyPending makes the pending change of a pod. It does nothing if there is none any longer, or if
// the change was put off anew and all is false.
func (s *saver) applyPending(uid types.UID, all bool) error {
	leave, err := s.lockPod(context.Background(), uid)
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	p := s.mu.pending[uid]
	s.mu.Unlock()
	if p == nil || !all && !p.failed && p.at.After(s.executor.Now()) {
		return nil
	}
	err = p.apply()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.pending[uid] != p: // Another one was put in its place.
	case err != nil:
		p.failed = true
	default:
		delete(s.mu.pending, uid)
	}
	return err
}
