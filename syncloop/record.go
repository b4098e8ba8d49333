package syncloop

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// ensureRecord is what the handlers know of one UID beside its admission, which the table of allocations
// has. Only the loop's goroutine uses it.
type record struct {
	// lastSpec is the pod that its worker was given last.
	lastSpec *v1.Pod
	// shown is the pod as the runtime has shown it last, if it may run: an orphan pod, or shownWithoutDetails for
	// one that a worker was given.
	shown *runtime.Pod
	// recordWaiting is what is published of a pod that waits.
	waiter *waitingPod
	// heldStatus is the status of a pod that waits, or was refused, while a previous incarnation of
	// the UID ends.
	heldStatus *heldStatus
	// orphanGraceEnd is when the kill of a running pod that no source names may begin; zero: the pod is not
	// left alone.
	orphanGraceEnd time.Time
	// undecided: the pod has been added, and nothing has been decided about it yet.
	undecided bool
	// retryChange: a change of the pod has panicked. The next housekeeping repeats it.
	retryChange bool
	// hadWorker: the UID had a worker of this process, and the runtime may still have records of it.
	hadWorker bool
	// removedBySource: the source has removed the pod, and it still has a worker.
	removedBySource bool
	// hasStaleRejection: the pod was refused and then removed, and the status that says so may be stored. A pod
	// that comes under the same UID is another one.
	hasStaleRejection bool
}

// records has the record of each UID.
type records struct {
	pods          map[types.UID]*record
	heldStatuses  int // how many have a status that is kept back
	deferredKills int // how many are left alone
	// shown are the UIDs of the pods that the runtime has shown last as pods that may run.
	shownUIDs []types.UID
}

// ensureRecord finds the record of a UID, or makes one.
func (all *records) ensureRecord(uid types.UID) *record {
	r := all.pods[uid]
	if r == nil {
		r = &record{}
		all.pods[uid] = r
	}
	return r
}

// readRecord returns what is known of a UID, for reading.
func (all *records) readRecord(uid types.UID) record {
	if r := all.pods[uid]; r != nil {
		return *r
	}
	return record{}
}

// updateEachRecord changes all records, and drops those that are zero.
func (all *records) updateEachRecord(change func(uid types.UID, r *record)) {
	maps.DeleteFunc(all.pods, func(uid types.UID, r *record) bool {
		change(uid, r)
		return *r == record{}
	})
}

// uidsWhere lists the UIDs with such a record, in order.
func (all *records) uidsWhere(match func(r *record) bool) []types.UID {
	var uids []types.UID
	for uid, r := range all.pods {
		if match(r) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// setHeldStatus sets the status that is kept back; nil drops it.
func (all *records) setHeldStatus(uid types.UID, status *heldStatus) {
	r := all.ensureRecord(uid)
	if (r.heldStatus == nil) != (status == nil) {
		if status == nil {
			all.heldStatuses--
		} else {
			all.heldStatuses++
		}
	}
	r.heldStatus = status
}

// setOrphanGraceEnd leaves a pod alone until a time; the zero time ends that.
func (all *records) setOrphanGraceEnd(uid types.UID, until time.Time) {
	r := all.ensureRecord(uid)
	if r.orphanGraceEnd.IsZero() != until.IsZero() {
		if until.IsZero() {
			all.deferredKills--
		} else {
			all.deferredKills++
		}
	}
	r.orphanGraceEnd = until
}

// sharedPods are what other goroutines read about pods, and the evictions that they request.
type sharedPods struct {
	mu struct {
		sync.Mutex
		pods    map[types.UID]*sharedPod
		evicted int // how many evictions the loop has not handled yet
		stopped bool
		recheck bool
	}
}

// sharedPod is what other goroutines read about one UID.
type sharedPod struct {
	deferral    *Deferral       // of a pod that waits
	eviction    *eviction       // of a pod that waits, if the loop has not handled it yet
	refused     bool            // it was refused and has no worker
	terminating *TerminatingPod // its containers have not stopped and have to
}

// update changes the entry of a UID, and drops it if it is zero. change is called with the lock held.
func (t *sharedPods) modify(uid types.UID, modify func(p *sharedPod)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.pods[uid]
	if p == nil {
		p = &sharedPod{}
	}
	modify(p)
	switch {
	case *p == sharedPod{}:
		delete(t.mu.pods, uid)
	case t.mu.pods == nil:
		t.mu.pods = map[types.UID]*sharedPod{uid: p}
	default:
		t.mu.pods[uid] = p
	}
}

// get returns the entry of a UID. It is zero if there is none.
func (t *sharedPods) get(uid types.UID) sharedPod {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.mu.pods[uid]; p != nil {
		return *p
	}
	return sharedPod{}
}

// uidsWhere returns the UIDs with such an entry, in order.
func (t *sharedPods) uidsWhere(match func(p *sharedPod) bool) (uids []types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, p := range t.mu.pods {
		if match(p) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// setRefused notes whether a pod was refused and has no worker.
func (t *sharedPods) setRefused(uid types.UID, refused bool) {
	t.modify(uid, func(p *sharedPod) { p.refused = refused })
}

// takeEviction forgets that a pod waits, and returns its eviction if it was evicted.
func (t *sharedPods) takeEviction(uid types.UID) (evicted *eviction) {
	t.modify(uid, func(p *sharedPod) {
		if evicted = p.eviction; evicted != nil {
			t.mu.evicted--
		}
		p.deferral, p.eviction = nil, nil
	})
	return evicted
}

// addEviction stores the eviction of a pod that waits, so that the pod does not start. The status of the
// first eviction counts. It reports false if the pod does not wait.
func (t *sharedPods) addEviction(uid types.UID, request WaitingEviction) (waits bool) {
	t.modify(uid, func(p *sharedPod) {
		if waits = p.deferral != nil && !t.mu.stopped; !waits {
			return
		}
		if p.eviction == nil {
			p.eviction = &eviction{first: request}
			t.mu.evicted++
		}
		if request.Completion != nil {
			p.eviction.completions = append(p.eviction.completions, request.Completion)
		}
	})
	return waits
}

// stopEvictions keeps further pods from being evicted, and returns the evictions that the loop has not handled.
func (t *sharedPods) stopEvictions() (left []*eviction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.stopped, t.mu.evicted = true, 0
	for _, p := range t.mu.pods {
		if p.eviction != nil {
			left = append(left, p.eviction)
			p.eviction = nil
		}
	}
	return left
}

// evictedUIDs returns the evicted pods that wait, in order.
func (t *sharedPods) evictedUIDs() []types.UID {
	t.mu.Lock()
	none := t.mu.evicted == 0
	t.mu.Unlock()
	if none {
		return nil
	}
	return t.uidsWhere(func(p *sharedPod) bool { return p.eviction != nil })
}

// takeRecheck reports whether Recheck was called since the last time.
func (t *sharedPods) takeRecheck() (is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is, t.mu.recheck = t.mu.recheck, false
	return is
}

// Deferred returns why a pod waits for its admission, and false if it does not wait. It may be called
// from anywhere.
func (h *Handlers) Deferred(uid types.UID) (Deferral, bool) {
	if d := h.shared.get(uid).deferral; d != nil {
		return *d, true
	}
	return Deferral{}, false
}

// IsRefused reports whether a desired pod was refused, so that it has no worker. A worker under its UID
// terminates a previous incarnation. It may be called from anywhere.
func (h *Handlers) IsRefused(uid types.UID) bool { return h.shared.get(uid).refused }

// Recheck has the admission of each pod that waits decided again, because the node has changed. It never
// blocks and may be called from anywhere.
func (h *Handlers) Recheck() {
	h.shared.mu.Lock()
	h.shared.mu.recheck = true
	h.shared.mu.Unlock()
	h.wake()
}
