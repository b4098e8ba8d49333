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

// Config configures a Store. The zero value is valid.
type Config struct {
	// Translator translates the UID of a mirror pod to the UID of its static pod. The Store calls
	// it without its lock. Nil: there are no mirror pods.
	Translator podmanager.Translator
	// Clock provides start and transition times. Nil means the real clock.
	Clock clock.PassiveClock
	// Log receives a debug line for each accepted status, and an error for each rejected one. Nil
	// discards them.
	Log *slog.Logger
	// Hooks observe the Store.
	Hooks Hooks
}

// Hooks observe a Store. Each may be nil. The goroutine that caused the event calls it without the
// store's lock; several may be called concurrently.
type Hooks struct {
	// Accepted is called for each accepted status.
	Accepted func(uid types.UID, version uint64)
	// Unchanged is called for each status that equals the stored one.
	Unchanged func(uid types.UID)
	// Refused is called for each rejected status, with the reason: it contradicts the stored one.
	Refused func(uid types.UID, reason error)
	// Panicked is called after each contained panic of the log or another hook, with the name of
	// the call.
	Panicked func(call string, err error)
}

// containPanics wraps the log and the hooks Accepted, Unchanged and Refused. If one of them panics, the
// subscriptions still get the status.
func (c *Config) containPanics() {
	g := contain.New(contain.Config{Package: "status", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
	c.Log = g.Log()
	c.Hooks.Accepted = contain.Hook2(g, "Hooks.Accepted", c.Hooks.Accepted)
	c.Hooks.Unchanged = contain.Hook1(g, "Hooks.Unchanged", c.Hooks.Unchanged)
	c.Hooks.Refused = contain.Hook2(g, "Hooks.Refused", c.Hooks.Refused)
}

// Store holds the newest status of every pod. All methods may be called concurrently, and none
// blocks on a subscriber. New returns one.
type Store struct {
	translator podmanager.Translator
	clock      clock.PassiveClock
	log        *slog.Logger
	hooks      Hooks

	mu struct {
		sync.Mutex
		entries map[types.UID]*entry
		// subs is only appended to or replaced, so that a reader can use a copy without the lock.
		subs []*subscription
		// removedVersion is the highest version of a removed status. removedEpoch is one higher than the
		// highest epoch of a removed status. A first status gets removedVersion+1 and removedEpoch, so it
		// differs from all removed statuses.
		removedVersion, removedEpoch uint64
		// conditions has the last few stored condition lists.
		conditions [4][]v1.PodCondition
		place      int // the index of the oldest list
	}
}

// entry is the stored status of a pod. An entry and its status never change, so that they can be
// read without the lock.
type entry struct {
	pod      *v1.Pod // as in the last call; read only
	status   *v1.PodStatus
	version  uint64
	epoch    uint64
	finished bool
	// phaseBeforeTerminal is the last phase that was not terminal. It is terminal if the pod's own Status
	// was terminal when the first status of the epoch was stored.
	phaseBeforeTerminal PhaseReason
}

// New returns an empty Store.
func New(cfg Config) *Store {
	cfg.Clock = cmp.Or[clock.PassiveClock](cfg.Clock, clock.RealClock{})
	cfg.containPanics()
	s := &Store{translator: cfg.Translator, clock: cfg.Clock, log: cfg.Log, hooks: cfg.Hooks}
	s.mu.entries = make(map[types.UID]*entry)
	return s
}

// SetPodStatus stores the current status of a pod. The syncer of the pod calls it, at any time and
// any number of times. The Store copies the status and keeps the pod, which must be the pod that
// runs, not a mirror pod. The caller must not change the pod afterwards. The Store ignores a nil
// pod. It rejects a status in which a terminated container has another state, unless the container
// may restart or its termination was only assumed (reconcile.CheckRestarts).
func (s *Store) SetPodStatus(pod *v1.Pod, status v1.PodStatus) {
	if pod == nil {
		return
	}
	next := status.DeepCopy()
	s.storeProposedChangeAndNotify(pod.UID, func(*entry) *statusChange {
		return &statusChange{pod: pod, status: next, force: pod.DeletionTimestamp != nil, checkRestarts: true}
	})
}

// ReplacePodStatus stores the first status of a new incarnation of the pod's UID. The start time,
// transition times and terminal phase of the last incarnation have no effect on it. Versions
// continue. Otherwise it is SetPodStatus.
func (s *Store) ReplacePodStatus(pod *v1.Pod, status v1.PodStatus) {
	if pod == nil {
		return
	}
	next := status.DeepCopy()
	s.storeProposedChangeAndNotify(pod.UID, func(*entry) *statusChange {
		return &statusChange{pod: pod, status: next, newEpoch: true}
	})
}

// TerminatePod records that no container of the pod runs, or will run. It is called after a pod has
// terminated, and may be called again.
func (s *Store) TerminatePod(pod *v1.Pod) {
	if pod == nil {
		return
	}
	s.storeProposedChangeAndNotify(pod.UID, func(e *entry) *statusChange {
		next := e.statusOrPodStatus(pod).DeepCopy()
		reconcile.Terminate(pod, next, podmanager.IsStaticPod(pod))
		return &statusChange{pod: pod, status: next, force: true, finished: true}
	})
}

// SetContainerReadiness stores the result of a container's readiness probe. containerID is
// ContainerStatus.ContainerID of the container. The call does nothing if the pod or the container is
// unknown or nothing changes. It ignores a success of a container that does not run.
func (s *Store) SetContainerReadiness(uid types.UID, containerID string, ready bool) {
	s.storeProposedChangeAndNotify(s.translateUID(uid), func(e *entry) *statusChange {
		return e.newStatusChange(func(next *v1.PodStatus) bool {
			return reconcile.SetReady(e.pod, next, containerID, ready)
		})
	})
}

// SetContainerStartup stores the result of a startup probe, like SetContainerReadiness.
func (s *Store) SetContainerStartup(uid types.UID, containerID string, started bool) {
	s.storeProposedChangeAndNotify(s.translateUID(uid), func(e *entry) *statusChange {
		return e.newStatusChange(func(next *v1.PodStatus) bool {
			return reconcile.SetStarted(e.pod, next, containerID, started)
		})
	})
}

// GetPodStatus returns a copy of the newest status of the pod. uid may be the UID of its mirror
// pod.
func (s *Store) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	e := s.getEntry(s.translateUID(uid))
	if e == nil {
		return v1.PodStatus{}, false
	}
	return *e.status.DeepCopy(), true
}

// GetReportedPodStatus is GetPodStatus for callers that publish statuses. It holds a terminal phase
// back and returns the phase before it, while couldRun returns true, the pod is not Finished, and a
// container has not terminated. A Sender holds it back even if all containers have terminated, and
// then shows the phase that it sent last. GetReportedPodStatus calls couldRun at most once, without the
// store's lock, with the UID of the pod that runs, also if uid belongs to a mirror pod.
func (s *Store) GetReportedPodStatus(uid types.UID, couldRun func(types.UID) bool) (v1.PodStatus, bool) {
	e := s.getEntry(s.translateUID(uid))
	if e == nil {
		return v1.PodStatus{}, false
	}
	hold := !e.finished && couldRun(e.pod.UID)
	if !e.finished && !hold {
		// The worker may have stored the last status before couldRun answered.
		if newer := s.getEntry(e.pod.UID); newer != nil {
			e = newer
		}
	}
	status := e.status.DeepCopy()
	if hold {
		e.phaseBeforeTerminal.replaceTerminalPhaseIn(status)
	}
	return *status, true
}

// replaceTerminalPhaseIn replaces a terminal phase and its reason in a status by b. An empty phase in b counts
// as Pending. It changes nothing if b is terminal too, or if no container of the status can run.
func (b PhaseReason) replaceTerminalPhaseIn(status *v1.PodStatus) {
	if podstatus.IsTerminal(status.Phase) && !podstatus.IsTerminal(b.Phase) && mayHaveRunningContainers(status) {
		reconcile.HoldBackTerminalPhase(&v1.PodStatus{Phase: cmp.Or(b.Phase, v1.PodPending), Reason: b.Reason, Message: b.Message}, status)
	}
}

// mayHaveRunningContainers reports whether a container of a pod in a terminal phase may run, by its status: an
// init or ephemeral container is running, or a regular container is not terminated.
func mayHaveRunningContainers(status *v1.PodStatus) bool {
	runs := func(c v1.ContainerStatus) bool { return c.State.Running != nil }
	return slices.ContainsFunc(status.InitContainerStatuses, runs) || slices.ContainsFunc(status.EphemeralContainerStatuses, runs) ||
		slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Terminated == nil })
}

// ReadPodStatus calls read with the newest status of the pod, without a copy. It reports whether
// the pod has a status. read must not change the status and may keep it. The Store calls read
// before ReadPodStatus returns, without its lock.
func (s *Store) ReadPodStatus(uid types.UID, read func(*v1.PodStatus)) bool {
	e := s.getEntry(s.translateUID(uid))
	if e == nil {
		return false
	}
	read(e.status)
	return true
}

// PodIsFinished reports whether TerminatePod was called for the pod. It stays true until the status is
// removed, or ReplacePodStatus stores the first status of a new incarnation of the UID. A changed
// status in SetPodStatus makes it false for a static pod.
func (s *Store) PodIsFinished(uid types.UID) bool {
	e := s.getEntry(s.translateUID(uid))
	return e != nil && e.finished
}

// RemoveOrphanedStatuses removes the status of every pod whose UID is not in keep, or is there with
// false, and notifies the subscriptions. Housekeeping calls it with all UIDs that the node has.
// UIDs of mirror pods in keep have no effect.
func (s *Store) RemoveOrphanedStatuses(keep map[types.UID]bool) {
	orphans, subs := s.removeOrphans(keep)
	now := s.clock.Now()
	for _, e := range orphans {
		notifySubscriptions(subs, e.pod, now)
	}
}

// removeOrphans removes the statuses of the pods for which keep does not return true. It returns them in the
// order of UIDs, with the subscriptions to notify. It also stores their highest version and epoch, so that a
// later pod gets higher ones.
func (s *Store) removeOrphans(keep map[types.UID]bool) (removed []*entry, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var orphans []*entry
	for uid, e := range s.mu.entries {
		if !keep[uid] {
			orphans = append(orphans, e)
			delete(s.mu.entries, uid)
			s.mu.removedVersion = max(s.mu.removedVersion, e.version)
			s.mu.removedEpoch = max(s.mu.removedEpoch, e.epoch+1)
		}
	}
	sortByUID(orphans)
	return orphans, s.mu.subs
}

// statusChange is a status that may be stored.
type statusChange struct {
	pod           *v1.Pod
	status        *v1.PodStatus // the store owns it
	force         bool          // accept it even if nothing has changed
	finished      bool
	newEpoch      bool // it belongs to a new incarnation; the stored status does not count
	checkRestarts bool // reject it if a terminated container has another state
}

// storeProposedChangeAndNotify stores the change that propose returns, logs the result, calls the matching hook
// and notifies the subscriptions of a new status. propose gets the stored entry, nil for an unknown pod, and
// runs under the lock. If it returns nil, nothing happens.
func (s *Store) storeProposedChangeAndNotify(uid types.UID, propose func(*entry) *statusChange) {
	now := s.clock.Now()
	e, refused, accepted, subs := s.storeProposedChangeUnderLock(uid, propose, now)
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
		notifySubscriptions(subs, e.pod, now)
	case s.hooks.Unchanged != nil:
		s.hooks.Unchanged(uid)
	}
}

// storeProposedChangeUnderLock stores the change that propose returns. accepted is true if a new status is
// stored. A change that is rejected (refused), or equal to the stored status, replaces only the pod object. e
// is the entry after the change. It is nil if propose returned nil.
func (s *Store) storeProposedChangeUnderLock(uid types.UID, propose func(*entry) *statusChange, now time.Time) (e *entry, refused error, accepted bool, subs []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.mu.entries[uid]
	p := propose(old)
	if p == nil {
		return nil, nil, false, nil
	}
	if p.checkRestarts {
		if err := reconcile.CheckRestarts(p.pod, old.statusOrPodStatus(p.pod), p.status); err != nil {
			return s.updatePodLocked(old, p.pod), fmt.Errorf("status: %w", err), false, nil
		}
	}
	version, epoch := s.mu.removedVersion, s.mu.removedEpoch
	if old != nil {
		version, epoch = old.version, old.epoch
	}
	next := &entry{pod: p.pod, status: p.status, epoch: epoch, finished: p.finished}
	if p.newEpoch {
		next.epoch++
		old = nil
	}
	if old != nil {
		next.finished = p.finished || old.finished && !podmanager.IsStaticPod(p.pod)
	}
	reconcile.Complete(p.pod, old.statusOrPodStatus(p.pod), next.status, now)
	if old != nil && !p.force && reconcile.Equal(old.status, next.status) {
		return s.updatePodLocked(old, p.pod), nil, false, nil
	}
	next.status.Conditions = s.shareConditionsLocked(next.status.Conditions)
	next.phaseBeforeTerminal = old.lastNonTerminalOrPodPhase(p.pod)
	next.version = version + 1
	s.mu.entries[uid] = next
	return next, nil, true, s.mu.subs
}

// shareConditionsLocked returns an equal, recently stored list of conditions, so that pods share its memory. If
// the store remembers no such list, it remembers the given list and returns it. Pods that start within one
// second have equal conditions, which are half of a status. A stored list never changes.
func (s *Store) shareConditionsLocked(conditions []v1.PodCondition) []v1.PodCondition {
	for _, known := range s.mu.conditions {
		if len(known) > 0 && slices.Equal(known, conditions) {
			return known
		}
	}
	s.mu.conditions[s.mu.place] = conditions
	s.mu.place = (s.mu.place + 1) % len(s.mu.conditions)
	return conditions
}

// updatePodLocked stores the new pod object in a copy of the stored entry, keeps the status, and returns the
// copy. If old is nil, it stores nothing and returns an entry with only the pod.
func (s *Store) updatePodLocked(old *entry, pod *v1.Pod) *entry {
	kept := entry{pod: pod}
	if old != nil {
		kept = *old
		kept.pod = pod
		s.mu.entries[pod.UID] = &kept
	}
	return &kept
}

// getEntry returns the stored entry of a pod, or nil.
func (s *Store) getEntry(uid types.UID) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.entries[uid]
}

// translateUID returns the UID of the static pod for the UID of its mirror pod. It returns any other UID
// unchanged.
func (s *Store) translateUID(uid types.UID) types.UID {
	if s.translator == nil {
		return uid
	}
	return types.UID(s.translator.TranslatePodUID(uid))
}

// statusOrPodStatus returns the stored status without a copy. If e is nil, it returns the status in the pod
// object.
func (e *entry) statusOrPodStatus(pod *v1.Pod) *v1.PodStatus {
	if e == nil {
		return &pod.Status
	}
	return e.status
}

// lastNonTerminalOrPodPhase returns the last phase that was not terminal, with its reason and message. If e is nil,
// it returns the phase in the pod object, which may be terminal. An empty phase counts as Pending.
func (e *entry) lastNonTerminalOrPodPhase(pod *v1.Pod) PhaseReason {
	switch s := e.statusOrPodStatus(pod); {
	case e != nil && podstatus.IsTerminal(s.Phase):
		return e.phaseBeforeTerminal
	case s.Phase == "":
		return PhaseReason{Phase: v1.PodPending}
	default:
		return PhaseReason{s.Phase, s.Reason, s.Message}
	}
}

// newStatusChange returns a change whose status is a copy of the stored status, changed by f. It returns nil if
// f returns false or nothing is stored.
func (e *entry) newStatusChange(f func(*v1.PodStatus) bool) *statusChange {
	if e == nil {
		return nil
	}
	next := e.status.DeepCopy()
	if !f(next) {
		return nil
	}
	return &statusChange{pod: e.pod, status: next, finished: e.finished}
}

func sortByUID(entries []*entry) {
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.pod.UID, b.pod.UID) })
}

// Merge returns the status that a sink stores if others write conditions too: mine, with the
// conditions in theirs that other writers own.
func Merge(theirs, mine v1.PodStatus) v1.PodStatus { return reconcile.Merge(&theirs, &mine) }
