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

// saver makes up for changes of what is kept of pods that were put off: because the disk
// was full, because another change came shortly before, or because the loop may not wait
// for a disk. Each pod has one change at most; the newest counts. What fails is tried again
// with a backoff that all pods share. Changes of one pod come one after the other, and no
// lock is held meanwhile.
type saver struct {
	guard    *contain.Guard
	log      *slog.Logger
	executor executor.Executor
	wake     executor.Event
	mu       struct {
		sync.Mutex
		busy    map[types.UID]executor.Latch // of pods of which something is changed now
		pending map[types.UID]*pendingChange
		backoff backoff.State // zero: the last attempt was a success
		due     time.Time     // of the next attempt of what has failed
	}
}

// pendingChange is a change of what is kept of a pod.
type pendingChange struct {
	do     func() error
	at     time.Time // when it is to be made, unless it has failed
	failed bool
}

func newSaver(guard *contain.Guard, clk clock.Clock) *saver {
	s := &saver{guard: guard, log: guard.Log(), executor: executor.Over(clk)}
	s.wake = s.executor.NewEvent()
	s.mu.busy, s.mu.pending = make(map[types.UID]executor.Latch), make(map[types.UID]*pendingChange)
	return s
}

// enter waits until no other call changes something of a pod, and returns what lets the
// next one in. Its error is that of ctx, or the crash of a simulated process.
func (s *saver) enter(ctx context.Context, uid types.UID) (leave func(), err error) {
	own := s.executor.NewLatch()
	for {
		other := s.claim(uid, own)
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

// claim marks a pod as busy, or returns what opens when it may be claimed again.
func (s *saver) claim(uid types.UID, own executor.Latch) (other executor.Latch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, busy := s.mu.busy[uid]; busy {
		return other
	}
	s.mu.busy[uid] = own
	return nil
}

// change makes a change of what is kept of a pod at once, in place of one that was put off.
// After an error it is tried again later, by again.
func (s *saver) change(uid types.UID, do, again func() error) error {
	leave, err := s.enter(context.Background(), uid) // The other call has an end.
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	before := s.mu.pending[uid]
	s.mu.Unlock()
	err = do()
	if s.settle(uid, before, err != nil, again) {
		s.wake.Signal()
	}
	return err
}

// settle notes how a change has ended that took the place of one that was put off before. What
// was put off meanwhile is newer and stays. wake says that a time for Run has come up.
func (s *saver) settle(uid types.UID, before *pendingChange, failed bool, again func() error) (wake bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.pending[uid] != before {
		return false
	}
	if !failed {
		delete(s.mu.pending, uid)
		return false
	}
	s.mu.pending[uid] = &pendingChange{do: again, failed: true}
	if wake = s.mu.due.IsZero(); wake {
		s.postponeLocked()
	}
	return wake
}

// put puts a change off until a time, in place of one that was put off before. It does not
// block.
func (s *saver) put(uid types.UID, at time.Time, do func() error) {
	s.mu.Lock()
	s.mu.pending[uid] = &pendingChange{do: do, at: at}
	s.mu.Unlock()
	s.wake.Signal()
}

// forget drops a change that was put off, and reports whether there was one.
func (s *saver) forget(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pending := s.mu.pending[uid]
	delete(s.mu.pending, uid)
	return pending
}

// postponeLocked sets the time of the next attempt of what has failed.
func (s *saver) postponeLocked() {
	now := s.executor.Now()
	s.mu.backoff = backoff.Exponential{Initial: firstResave, Max: lastResave, Reset: resetResave}.Failed(s.mu.backoff, now)
	s.mu.due = now.Add(s.mu.backoff.Delay)
}

// Run makes the changes that were put off, until ctx ends, and all of them once more then.
// While there are none it waits for one.
func (s *saver) Run(ctx context.Context) error {
	for {
		if err := s.pause(ctx); err != nil {
			break
		}
		s.attempt(false)
	}
	if ctx.Err() != nil { // Otherwise the process has crashed, in a simulation.
		s.attempt(true)
	}
	return nil
}

// pause waits until a change is due.
func (s *saver) pause(ctx context.Context) error {
	for {
		at, timed := s.next()
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

// next returns when a change is due; false if none was put off.
func (s *saver) next() (at time.Time, timed bool) {
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

// attempt makes the changes that are due, or all of them. A failure keeps no other pod from
// it.
func (s *saver) attempt(all bool) {
	due, again := s.takeDue(all)
	failed := false
	for _, uid := range due {
		failed = s.makeUp(uid, all) != nil || failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch left := s.failedLocked(); {
	case !left:
		s.mu.backoff, s.mu.due = backoff.State{}, time.Time{}
	case again && !failed: // Others have come meanwhile.
		s.mu.backoff = backoff.State{}
		s.postponeLocked()
	case again, s.mu.due.IsZero():
		s.postponeLocked()
	}
}

func (s *saver) failedLocked() bool {
	for _, p := range s.mu.pending {
		if p.failed {
			return true
		}
	}
	return false
}

// takeDue lists the pods whose change is due, in an order that is the same in every
// simulation with the same seed, and reports whether what has failed is tried again.
func (s *saver) takeDue(all bool) (due []types.UID, again bool) {
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

// makeUp makes one change, unless it was made or dropped meanwhile, or, unless all are made,
// was put off anew.
func (s *saver) makeUp(uid types.UID, all bool) error {
	leave, err := s.enter(context.Background(), uid)
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
	err = p.do()
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
