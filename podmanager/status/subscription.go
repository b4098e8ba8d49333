package status

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/dirty"
)

// Update is the newest state of one pod.
type Update struct {
	UID types.UID
	// Pod is the pod of the last call that set a status. It is read only.
	Pod *v1.Pod
	// Version is one higher than the version of the previous status of the pod. The first status of
	// a pod is one higher than the highest version of all removed statuses. Version is zero if Removed
	// is true; otherwise it never decreases.
	Version uint64
	// StatusEpoch differs between incarnations of the UID. ReplacePodStatus and the first status
	// after a removal begin a new epoch. Statuses of an earlier epoch do not affect the new one. The
	// first epoch may be zero. StatusEpoch is also zero if Removed is true; otherwise it never
	// decreases.
	StatusEpoch uint64
	// Status is a copy of the newest status, empty if it was removed.
	Status v1.PodStatus
	// Finished: the pod has terminated, and nothing of it runs.
	Finished bool
	// Removed: the store has removed the status of the pod.
	Removed bool
	// Since is the time of the first change in this update.
	Since time.Time
	// Before is the last phase that was not terminal, for HoldBackTerminalPhase. It is terminal if
	// Pod.Status was terminal when the first status of the epoch was stored.
	Before PhaseReason
}

// PhaseReason is the phase of a pod with its reason and message.
type PhaseReason struct {
	Phase           v1.PodPhase
	Reason, Message string
}

// HoldBackTerminalPhase replaces a terminal phase in Status by Before, or by Pending if Before has
// none, as Store.GetReportedPodStatus does. Callers that publish statuses call it while a container
// of the pod may run. It does nothing for a pod that is Finished or removed, whose own Status
// was terminal when the first status of the epoch was stored, or whose containers have all terminated.
func (u *Update) HoldBackTerminalPhase() {
	if !u.Finished && !u.Removed {
		u.Before.replaceTerminalPhaseIn(&u.Status)
	}
}

// Statuses announces every new status of a pod. A Store implements it.
type Statuses interface {
	// Subscribe returns a new subscription, which begins with every pod that has a
	// status. The implementation calls wake when TakeAll would return updates and would have
	// returned none before. It holds no lock that TakeAll needs, and may call wake before Subscribe
	// returns. wake never blocks and may be called by any goroutine.
	Subscribe(wake func()) Subscription
}

// Subscription is the view of one consumer of the pods with a new status. It holds each changed pod
// once, so it cannot overflow, and nothing waits for its consumer.
type Subscription interface {
	// TakeAll appends to buf the newest status of each pod that has changed since the
	// last call, in the order in which they changed first, and returns it. It may be
	// called at any time from any goroutine, and never blocks.
	//
	// An update is never older than an earlier update of the pod. It may be equal to it, if the
	// status changed during TakeAll. A pod may be reported as removed that was never reported before.
	TakeAll(buf []Update) []Update
	// Close ends the subscription: it gets no more changes, except from a call in progress. A second
	// Close does nothing.
	Close()
}

// subscription is a Subscription of a Store.
type subscription struct {
	store *Store
	dirty *dirty.Set[pendingChange]
}

// pendingChange is what a subscription stores of a changed pod until TakeAll.
type pendingChange struct {
	pod   *v1.Pod
	since time.Time
}

// Subscribe implements Statuses. The subscription begins in the order of UIDs. The goroutine that
// caused a change calls wake. Nil: the subscriber polls TakeAll. The caller must close the
// subscription.
func (s *Store) Subscribe(wake func()) Subscription {
	sub := &subscription{store: s, dirty: dirty.New(mergePendingChanges, wake)}
	now := s.clock.Now()
	for _, e := range s.addSubscription(sub) {
		sub.dirty.Add(e.pod.UID, pendingChange{e.pod, now})
	}
	return sub
}

// addSubscription adds a subscription. It returns all entries that are stored at that moment, sorted by UID.
func (s *Store) addSubscription(sub *subscription) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.subs = append(s.mu.subs, sub)
	known := make([]*entry, 0, len(s.mu.entries))
	for _, e := range s.mu.entries {
		known = append(known, e)
	}
	sortByUID(known)
	return known
}

// TakeAll implements Subscription.
func (sub *subscription) TakeAll(buf []Update) []Update {
	for _, changed := range sub.dirty.TakeAll(nil) {
		u := Update{UID: changed.UID, Pod: changed.Value.pod, Since: changed.Value.since}
		if e := sub.store.getEntry(changed.UID); e == nil {
			u.Removed = true
		} else {
			u.Pod, u.Version, u.StatusEpoch, u.Finished = e.pod, e.version, e.epoch, e.finished
			u.Before = e.phaseBeforeTerminal
			u.Status = *e.status.DeepCopy()
		}
		buf = append(buf, u)
	}
	return buf
}

// Close implements Subscription.
func (sub *subscription) Close() {
	s := sub.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.subs = slices.DeleteFunc(slices.Clone(s.mu.subs), func(other *subscription) bool { return other == sub })
}

// notifySubscriptions marks a pod as changed in each subscription, and thereby wakes the subscriber.
func notifySubscriptions(subs []*subscription, pod *v1.Pod, now time.Time) {
	for _, sub := range subs {
		sub.dirty.Add(pod.UID, pendingChange{pod, now})
	}
}

// mergePendingChanges merges two changes of a pod that no subscriber has taken: it returns the newer pod with
// the older time.
func mergePendingChanges(old, new pendingChange) pendingChange {
	new.since = old.since
	return new
}
