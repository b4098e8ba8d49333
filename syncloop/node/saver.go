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

// lockPod waits until no other call changes the stored state of a pod. leave unlocks the pod. The error
// is ctx's, or the crash of a simulated process.
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

// tryLockPod locks a pod. If the pod is locked already, it returns a latch that opens when the other
// call unlocks it.
func (s *saver) tryLockPod(uid types.UID, own executor.Latch) (other executor.Latch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, busy := s.mu.busy[uid]; busy {
		return other
	}
	s.mu.busy[uid] = own
	return nil
}

// applyNow makes a change to the stored state of a pod at once, and drops its pending change. If apply
// returns an error, retry becomes the pending change.
func (s *saver) applyNow(uid types.UID, apply, retry func() error) error {
	leave, err := s.lockPod(context.Background(), uid) // The other call returns eventually.
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

// recordResult stores the result of a change that replaced the pending change before. A change that was
// postponed meanwhile is newer and stays. wake reports whether Run must wait for a new due time.
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

// postpone makes apply the pending change of a pod, due at a time. It does not block.
func (s *saver) postpone(uid types.UID, at time.Time, apply func() error) {
	s.mu.Lock()
	s.mu.pending[uid] = &pendingChange{apply: apply, at: at}
	s.mu.Unlock()
	s.wake.Signal()
}

// cancelPending drops the pending change of a pod, and reports whether there was one.
func (s *saver) cancelPending(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pending := s.mu.pending[uid]
	delete(s.mu.pending, uid)
	return pending
}

// setNextRetryLocked sets the time of the next retry of failed changes.
func (s *saver) setNextRetryLocked() {
	now := s.executor.Now()
	s.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(s.mu.backoff, now)
	s.mu.due = now.Add(s.mu.backoff.Delay)
}

// Run makes pending changes when they are due, until ctx ends. Then it makes all remaining changes at
// once.
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

// nextDue returns the earliest due time. timed is false if there is no pending change.
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

// applyDue makes the changes that are due, or all of them. After a failure it continues with the other
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
	case again && !failed: // The failed changes were added meanwhile.
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

// listDue lists the pods whose change is due, sorted, so that simulations with the same seed are equal.
// again reports whether failed changes are retried.
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

// applyPending makes the pending change of a pod. It does nothing if there is none, or if the change
// was postponed again and all is false.
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
	case s.mu.pending[uid] != p: // A newer change replaced it.
	case err != nil:
		p.failed = true
	default:
		delete(s.mu.pending, uid)
	}
	return err
}
