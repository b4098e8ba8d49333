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
	// Pod is the pod as it was last handed in with a status. It is read only.
	Pod *v1.Pod
	// Version counts the accepted statuses of the pod. It never goes down, and
	// is zero if the status was removed.
	Version uint64
	// StatusEpoch tells the statuses of different incarnations of the UID apart:
	// ReplacePodStatus begins another epoch, to which what was said of the one before
	// means nothing, and so does the first status after a removal. It never goes down,
	// and is zero if the status was removed.
	StatusEpoch uint64
	// Status is a copy of the newest status, empty if it was removed.
	Status v1.PodStatus
	// Finished: the pod has been terminated; nothing of it runs.
	Finished bool
	// Removed: the store has forgotten the pod.
	Removed bool
	// Since is when the first change was made that this tells of.
	Since time.Time
	// Before is what the status said before the pod's end, for HoldBackTerminalPhase.
	Before PhaseReason
}

// PhaseReason is the phase of a pod, and why it is in it.
type PhaseReason struct {
	Phase           v1.PodPhase
	Reason, Message string
}

// HoldBackTerminalPhase takes the end of the pod out of Status, which says what Before says instead, as
// for Store.GetReportedPodStatus. Without a phase there it says Pending. It is for callers that publish statuses, as long as a
// container of the pod may run. It does nothing to a pod that is Finished, was removed,
// or came with its end, nor to one all containers of which have ended.
func (u *Update) HoldBackTerminalPhase() {
	if !u.Finished && !u.Removed {
		u.Before.holdBack(&u.Status)
	}
}

// Statuses tell of every new status of a pod: a Store.
type Statuses interface {
	// Subscribe returns a new subscription, which begins with every pod that has a
	// status. The implementation calls wake when there is something to TakeAll and
	// there was nothing before, with no lock held that TakeAll needs; perhaps before
	// Subscribe returns. wake never blocks and may be called by any goroutine.
	Subscribe(wake func()) Subscription
}

// Subscription is one consumer's view of the pods that have a new status. It holds each
// changed pod once, so it cannot overflow, and nothing waits for its consumer.
type Subscription interface {
	// TakeAll appends to buf the newest status of each pod that has changed since the
	// last call, in the order in which they changed first, and returns it. It may be
	// called at any time from any goroutine, and never blocks.
	//
	// What is returned is never older than what was returned before. It may be the same
	// again, if it changed while it was read; and a pod may be reported removed that was
	// never reported before.
	TakeAll(buf []Update) []Update
	// Close ends the subscription: it gets no more changes, except from a call that is
	// already under way. Closing it again does nothing.
	Close()
}

// subscription is the one of a Store.
type subscription struct {
	store *Store
	dirty *dirty.Set[note]
}

// note is what a subscription remembers of a pod until it is taken.
type note struct {
	pod   *v1.Pod
	since time.Time
}

// Subscribe implements Statuses. The subscription begins in order of UID. wake is called
// by the goroutine that caused the change. Nil means that the subscriber looks of its own
// accord. The subscription must be closed when it is not needed any more.
func (s *Store) Subscribe(wake func()) Subscription {
	sub := &subscription{store: s, dirty: dirty.New(mergeNotes, wake)}
	now := s.clock.Now()
	for _, e := range s.add(sub) {
		sub.dirty.Add(e.pod.UID, note{e.pod, now})
	}
	return sub
}

// add registers the subscription and returns all that is stored at that moment.
func (s *Store) add(sub *subscription) []*entry {
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
		if e := sub.store.get(changed.UID); e == nil {
			u.Removed = true
		} else {
			u.Pod, u.Version, u.StatusEpoch, u.Finished = e.pod, e.version, e.epoch, e.finished
			u.Before = e.before
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

// tell marks the pod in each subscription.
func tell(subs []*subscription, pod *v1.Pod, now time.Time) {
	for _, sub := range subs {
		sub.dirty.Add(pod.UID, note{pod, now})
	}
}

// mergeNotes keeps the newer pod and the older time.
func mergeNotes(old, new note) note {
	new.since = old.since
	return new
}
