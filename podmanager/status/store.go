package status

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podmanager/status/reconcile"
)

// Config is what a Store is made of. The zero value is complete.
type Config struct {
	// Translator turns the UIDs of mirror pods into those of their pods. It is
	// asked without the store's lock. Nil means that there are no mirrors.
	Translator podmanager.Translator
	// Clock gives start and transition times. Nil means the real clock.
	Clock clock.PassiveClock
	// Log gets a debug line for each accepted status, and an error for each that
	// was refused. Nil discards.
	Log *slog.Logger
	// Hooks are called as things happen.
	Hooks Hooks
}

// Hooks observe a Store. Each may be nil, is called without the store's lock
// by the goroutine that caused it, and possibly by several at once.
type Hooks struct {
	// Accepted is called for each status that was accepted.
	Accepted func(uid types.UID, version uint64)
	// Unchanged is called for each status that was dropped because it said
	// nothing new.
	Unchanged func(uid types.UID)
	// Refused is called for each status that was dropped because it cannot be
	// true after the one before, with the reason.
	Refused func(uid types.UID, reason error)
	// Panicked is called after each panic of the log or another hook that was
	// contained, with the name of the call.
	Panicked func(call string, err error)
}

// contain wraps what a Store calls that others have written: a panic there keeps
// nobody from hearing of a status.
func (c *Config) contain() {
	g := contain.New(contain.Config{Package: "status", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Hooks.Accepted = contain.Hook2(g, "Hooks.Accepted", c.Hooks.Accepted)
	c.Hooks.Unchanged = contain.Hook1(g, "Hooks.Unchanged", c.Hooks.Unchanged)
	c.Hooks.Refused = contain.Hook2(g, "Hooks.Refused", c.Hooks.Refused)
}

// Store holds the newest status of every pod. All methods may be called from
// any goroutine at any time, and none blocks on a subscriber. Make one with
// New.
type Store struct {
	translator podmanager.Translator
	clock      clock.PassiveClock
	log        *slog.Logger
	hooks      Hooks

	mu struct {
		sync.Mutex
		entries map[types.UID]*entry
		// subs is only appended to or replaced: what it was can be walked
		// unlocked.
		subs []*subscription
		// removed is the highest version that a removed status had, and
		// removedEpoch is above the highest epoch: nothing that comes later
		// can be taken for what was removed.
		removed, removedEpoch uint64
		// conditions are the last few that were stored.
		conditions [4][]v1.PodCondition
		place      int // of the oldest of them
	}
}

// entry is what is stored of a pod. Neither it nor its status is changed once
// it is stored, so both can be read unlocked.
type entry struct {
	pod      *v1.Pod // as it was last handed in; read only
	status   *v1.PodStatus
	version  uint64
	epoch    uint64
	finished bool
	// before is what was said of the pod before its end.
	before PhaseReason
}

// New returns a Store that knows no pod.
func New(cfg Config) *Store {
	cfg.Clock = cmp.Or[clock.PassiveClock](cfg.Clock, clock.RealClock{})
	cfg.contain()
	s := &Store{translator: cfg.Translator, clock: cfg.Clock, log: cfg.Log, hooks: cfg.Hooks}
	s.mu.entries = make(map[types.UID]*entry)
	return s
}

// SetPodStatus hands in the status of a pod as it is seen now. It is called by the
// syncer of the pod, at any time and as often as it likes. The status is copied; the
// pod, which must be the one that runs and not a mirror, is kept and not changed any
// more. A nil pod is ignored, and so is a status in which a container that has ended has
// not, though nothing runs it again.
func (s *Store) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	if pod == nil {
		return
	}
	next := status.DeepCopy()
	s.change(pod.UID, func(*entry) *proposal {
		return &proposal{pod: pod, status: next, force: pod.DeletionTimestamp != nil, follows: true}
	})
}

// ReplacePodStatus hands in the first status of a new incarnation of the pod's UID. It
// is stored whatever was said of the incarnation before: its start, transition times
// and end bind this one to nothing. Versions go on growing. Otherwise it is
// SetPodStatus.
func (s *Store) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) {
	if pod == nil {
		return
	}
	next := status.DeepCopy()
	s.change(pod.UID, func(*entry) *proposal {
		return &proposal{pod: pod, status: next, anew: true}
	})
}

// TerminatePod says that no container of the pod runs, or ever will. It is
// called when a pod has been terminated, and may be called again.
func (s *Store) TerminatePod(pod *v1.Pod) {
	if pod == nil {
		return
	}
	s.change(pod.UID, func(e *entry) *proposal {
		next := e.statusOf(pod).DeepCopy()
		reconcile.Terminate(pod, next, podmanager.IsStaticPod(pod))
		return &proposal{pod: pod, status: next, force: true, finished: true}
	})
}

// SetContainerReadiness notes the result of a readiness probe of the container
// with this ID, as it is written in the status. It is ignored if pod or
// container are not known, if nothing changes, and if it is good news of a
// container that does not run.
func (s *Store) SetContainerReadiness(uid types.UID, containerID string, ready bool) {
	s.change(s.translate(uid), func(e *entry) *proposal {
		return e.changeStatus(func(next *v1.PodStatus) bool {
			return reconcile.SetReady(e.pod, next, containerID, ready)
		})
	})
}

// SetContainerStartup notes the result of a startup probe, like
// SetContainerReadiness.
func (s *Store) SetContainerStartup(uid types.UID, containerID string, started bool) {
	s.change(s.translate(uid), func(e *entry) *proposal {
		return e.changeStatus(func(next *v1.PodStatus) bool {
			return reconcile.SetStarted(e.pod, next, containerID, started)
		})
	})
}

// GetPodStatus returns a copy of the newest status of the pod, which may be
// named by the UID of its mirror.
func (s *Store) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	e := s.get(s.translate(uid))
	if e == nil {
		return v1.PodStatus{}, false
	}
	return *e.status.DeepCopy(), true
}

// GetReportedPodStatus is GetPodStatus for callers that publish statuses. It holds
// the end of a pod back, as a Sender does, and shows the phase before it, as long as
// couldRun answers true, the pod is not Finished, and not all of its containers have
// ended. couldRun is called at most once, without the store's lock, with the UID of the
// pod that runs, also if uid is that of its mirror.
func (s *Store) GetReportedPodStatus(uid types.UID, couldRun func(types.UID) bool) (v1.PodStatus, bool) {
	e := s.get(s.translate(uid))
	if e == nil {
		return v1.PodStatus{}, false
	}
	hold := !e.finished && couldRun(e.pod.UID)
	if !e.finished && !hold {
		// The worker may have stored the last status before couldRun answered.
		if newer := s.get(e.pod.UID); newer != nil {
			e = newer
		}
	}
	status := e.status.DeepCopy()
	if hold {
		e.before.holdBack(status)
	}
	return *status, true
}

// holdBack takes the end out of a status, unless the pod came with it, or has ended by
// itself: all of its containers have.
func (b PhaseReason) holdBack(status *v1.PodStatus) {
	if podstatus.IsTerminal(status.Phase) && !podstatus.IsTerminal(b.Phase) && mayRun(status) {
		reconcile.HoldBackTerminalPhase(&v1.PodStatus{Phase: cmp.Or(b.Phase, v1.PodPending), Reason: b.Reason, Message: b.Message}, status)
	}
}

// mayRun reports whether, by its status, a container of a pod that has ended runs, or
// may be about to.
func mayRun(status *v1.PodStatus) bool {
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return slices.ContainsFunc(status.InitContainerStatuses, runs) || slices.ContainsFunc(status.EphemeralContainerStatuses, runs) ||
		slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Terminated == nil })
}

// ReadPodStatus calls read with the newest status of the pod, without a copy, and reports whether
// there is one. It is GetPodStatus for callers that read a few fields. The status never changes,
// must not be changed, and may be kept. read is called before ReadPodStatus returns, without the
// store's lock.
func (s *Store) ReadPodStatus(uid types.UID, read func(*v1.PodStatus)) bool {
	e := s.get(s.translate(uid))
	if e == nil {
		return false
	}
	read(e.status)
	return true
}

// PodIsFinished reports whether the newest status is that of a terminated pod: nothing of it runs,
// and TerminatePod was called. After the UID was created again that stays true until the first
// status of the new incarnation.
func (s *Store) PodIsFinished(uid types.UID) bool {
	e := s.get(s.translate(uid))
	return e != nil && e.finished
}

// RemoveOrphanedStatuses forgets the status of every pod whose UID is not in
// keep, or is there with false, and tells the subscriptions. It is called by
// housekeeping with all UIDs that the node knows; UIDs of mirrors among them do
// no harm.
func (s *Store) RemoveOrphanedStatuses(keep map[types.UID]bool) {
	orphans, subs := s.remove(keep)
	now := s.clock.Now()
	for _, e := range orphans {
		tell(subs, e.pod, now)
	}
}

// remove takes out the orphans and returns them in order of UID.
func (s *Store) remove(keep map[types.UID]bool) ([]*entry, []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var orphans []*entry
	for uid, e := range s.mu.entries {
		if !keep[uid] {
			orphans = append(orphans, e)
			delete(s.mu.entries, uid)
			s.mu.removed = max(s.mu.removed, e.version)
			s.mu.removedEpoch = max(s.mu.removedEpoch, e.epoch+1)
		}
	}
	sortByUID(orphans)
	return orphans, s.mu.subs
}

// proposal is a status that may be stored.
type proposal struct {
	pod      *v1.Pod
	status   *v1.PodStatus // becomes the store's
	force    bool          // to be accepted even if it says nothing new
	finished bool
	anew     bool // of a new incarnation: what is stored counts as not there
	follows  bool // to be checked against the status before
}

// change stores what propose makes of what is stored now (nil if nothing is),
// and tells everybody. propose runs under the lock and may return nil.
func (s *Store) change(uid types.UID, propose func(*entry) *proposal) {
	now := s.clock.Now()
	e, refused, accepted, subs := s.changeUnderLock(uid, propose, now)
	switch {
	case e == nil:
	case refused != nil:
		s.log.Error("pod status refused", "pod", podmanager.FullName(e.pod), "uid", uid, "err", refused)
		if s.hooks.Refused != nil {
			s.hooks.Refused(uid, refused)
		}
	case accepted:
		s.log.Debug("pod status accepted", "pod", podmanager.FullName(e.pod), "uid", uid,
			"phase", e.status.Phase, "version", e.version)
		if s.hooks.Accepted != nil {
			s.hooks.Accepted(uid, e.version)
		}
		tell(subs, e.pod, now)
	case s.hooks.Unchanged != nil:
		s.hooks.Unchanged(uid)
	}
}

// changeUnderLock returns what is stored after the change, nil if there was
// nothing to change or nothing is stored, why the change was refused, and
// whether that is a new status.
func (s *Store) changeUnderLock(uid types.UID, propose func(*entry) *proposal, now time.Time) (*entry, error, bool, []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mu.entries[uid]
	p := propose(old)
	if p == nil {
		return nil, nil, false, nil
	}
	if p.follows {
		if err := reconcile.CheckRestarts(p.pod, old.statusOf(p.pod), p.status); err != nil {
			return s.keepLocked(old, p.pod), fmt.Errorf("status: %w", err), false, nil
		}
	}
	version, epoch := s.mu.removed, s.mu.removedEpoch
	if old != nil {
		version, epoch = old.version, old.epoch
	}
	next := &entry{pod: p.pod, status: p.status, epoch: epoch, finished: p.finished}
	if p.anew {
		next.epoch++
		old = nil
	}
	if old != nil {
		next.finished = p.finished || old.finished && !podmanager.IsStaticPod(p.pod)
	}
	reconcile.Complete(p.pod, old.statusOf(p.pod), next.status, now)
	if old != nil && !p.force && reconcile.Equal(old.status, next.status) {
		return s.keepLocked(old, p.pod), nil, false, nil
	}
	next.status.Conditions = s.shareLocked(next.status.Conditions)
	next.before = old.beforeEnd(p.pod)
	next.version = version + 1
	s.mu.entries[uid] = next
	return next, nil, true, s.mu.subs
}

// shareLocked returns the conditions, or equal ones of a pod that was stored shortly before: of
// pods that start within one second they are alike, and they are half of a status. Those of a
// stored status are never changed.
func (s *Store) shareLocked(conditions []v1.PodCondition) []v1.PodCondition {
	for _, known := range s.mu.conditions {
		if len(known) > 0 && slices.Equal(known, conditions) {
			return known
		}
	}
	s.mu.conditions[s.mu.place] = conditions
	s.mu.place = (s.mu.place + 1) % len(s.mu.conditions)
	return conditions
}

// keepLocked lets what is stored stand, of the pod as it is now; if nothing is,
// it stays so.
func (s *Store) keepLocked(old *entry, pod *v1.Pod) *entry {
	kept := entry{pod: pod}
	if old != nil {
		kept = *old
		kept.pod = pod
		s.mu.entries[pod.UID] = &kept
	}
	return &kept
}

// get is what is stored of the pod, or nil.
func (s *Store) get(uid types.UID) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.entries[uid]
}

func (s *Store) translate(uid types.UID) types.UID {
	if s.translator == nil {
		return uid
	}
	return types.UID(s.translator.TranslatePodUID(uid))
}

// statusOf is the stored status, or what the pod came with if there is none.
func (e *entry) statusOf(pod *v1.Pod) *v1.PodStatus {
	if e == nil {
		return &pod.Status
	}
	return e.status
}

// beforeEnd is what was said of the pod last, its end apart.
func (e *entry) beforeEnd(pod *v1.Pod) PhaseReason {
	switch s := e.statusOf(pod); {
	case e != nil && podstatus.IsTerminal(s.Phase):
		return e.before
	case s.Phase == "":
		return PhaseReason{Phase: v1.PodPending}
	default:
		return PhaseReason{s.Phase, s.Reason, s.Message}
	}
}

// changeStatus proposes the stored status as f has changed it, if it has.
func (e *entry) changeStatus(f func(*v1.PodStatus) bool) *proposal {
	if e == nil {
		return nil
	}
	next := e.status.DeepCopy()
	if !f(next) {
		return nil
	}
	return &proposal{pod: e.pod, status: next, finished: e.finished}
}

func sortByUID(entries []*entry) {
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.pod.UID, b.pod.UID) })
}

// Merge returns the status that a sink stores where others write conditions too: mine, with those
// conditions of theirs that are not the node's.
func Merge(theirs, mine v1.PodStatus) v1.PodStatus { return reconcile.Merge(&theirs, &mine) }
