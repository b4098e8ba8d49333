package syncloop

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// record is what the handlers store about one UID, in addition to its allocation. Only the goroutine of the
// loop uses it.
type record struct {
	// lastSpec is the pod in the last update that its worker has received.
	lastSpec *v1.Pod
	// shown is the pod from the last listing of the runtime, if it may run. For a pod with a lastSpec it is
	// shownWithoutDetails.
	shown *runtime.Pod
	// waiter has the published status of a pod that waits.
	waiter *waitingPod
	// heldStatus is the status of a waiting or rejected pod that is held back while a previous incarnation of
	// the UID terminates.
	heldStatus *heldStatus
	// orphanGraceEnd is the time until which the kill of an orphan is deferred; zero: the kill is not
	// deferred.
	orphanGraceEnd time.Time
	// undecided is true while addPods has not decided about the pod.
	undecided bool
	// retryChange is true if a change of the pod has panicked. The next housekeeping repeats it.
	retryChange bool
	// hadWorker is true if the UID had a worker of this process and the runtime may still have records of it.
	hadWorker bool
	// removedBySource is true if the source has removed the pod and the pod still has a worker.
	removedBySource bool
	// hasStaleRejection is true if the pod was rejected and then removed, and its rejection may still be the
	// stored status. A new pod with the same UID is a different pod.
	hasStaleRejection bool
	// hasSavedResources is true if the allocated resources of the pod are saved for the next agent.
	hasSavedResources bool
	// pendingResize is the pod with the resources that its source desires, while the stored pod has other resources.
	// The allocation table has a request for it only while the pod is admitted.
	pendingResize *v1.Pod
	// unappliedResize is the newest decision about a resize of the pod, if applying it has panicked. The next
	// housekeeping applies it.
	unappliedResize *allocation.Effect
}

// records has one record for each UID.
type records struct {
	pods          map[types.UID]*record
	heldStatuses  int // number of records with a heldStatus
	deferredKills int // number of records with an orphanGraceEnd
	// shownUIDs are the pods that may run according to the last listing of the runtime.
	shownUIDs []types.UID
}

// ensureRecord returns what the handlers store about a UID, and creates that record if it is missing.
func (all *records) ensureRecord(uid types.UID) *record {
	r := all.pods[uid]
	if r == nil {
		r = &record{}
		all.pods[uid] = r
	}
	return r
}

// readRecord returns a copy of what the handlers store about a UID, or the zero record if they store nothing.
func (all *records) readRecord(uid types.UID) record {
	if r := all.pods[uid]; r != nil {
		return *r
	}
	return record{}
}

// updateEachRecord calls change for each UID's record. It deletes the records that are the zero value
// afterwards.
func (all *records) updateEachRecord(change func(uid types.UID, r *record)) {
	maps.DeleteFunc(all.pods, func(uid types.UID, r *record) bool {
		change(uid, r)
		return *r == record{}
	})
}

// uidsWhere returns the sorted UIDs of the records for which match returns true.
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

// setHeldStatus stores a status of a pod that is published when an earlier pod with its UID has finished; nil
// clears it. It also updates the number of such statuses.
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

// setOrphanGraceEnd stores until when the kill of an orphan is deferred; the zero time ends the deferral. It
// also updates the number of deferred kills.
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

// sharedPods is what other goroutines read about pods, and the evictions that they request. It is safe for
// concurrent use.
type sharedPods struct {
	mu struct {
		sync.Mutex
		pods    map[types.UID]*sharedPod
		evicted int // number of evictions that the loop has not handled
		stopped bool
		recheck bool
	}
}

// sharedPod is what other goroutines read about one UID.
type sharedPod struct {
	deferral    *Deferral       // of a pod that waits
	eviction    *eviction       // of a pod that waits; nil if the loop has handled it
	refused     bool            // the pod was rejected and has no worker
	terminating *TerminatingPod // of a terminating pod whose containers have not stopped
}

// updateEntry calls modify with the entry of a UID, under the lock. It creates a missing entry, and deletes an
// entry that is the zero value afterwards.
func (t *sharedPods) updateEntry(uid types.UID, modify func(p *sharedPod)) {
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

// copyOfEntryOrZero returns a copy of the entry of a UID. It returns the zero entry if there is none.
func (t *sharedPods) copyOfEntryOrZero(uid types.UID) sharedPod {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.mu.pods[uid]; p != nil {
		return *p
	}
	return sharedPod{}
}

// uidsWhere returns the sorted UIDs of the entries for which match returns true.
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

// setRejected stores, for readers on other goroutines, whether a pod is rejected.
func (t *sharedPods) setRejected(uid types.UID, rejected bool) {
	t.updateEntry(uid, func(p *sharedPod) { p.refused = rejected })
}

// takeEvictionAndClearDeferral removes and returns the eviction of a pod, and clears the reason why it waits
// for admission. It returns nil if the pod was not evicted.
func (t *sharedPods) takeEvictionAndClearDeferral(uid types.UID) (evicted *eviction) {
	t.updateEntry(uid, func(p *sharedPod) {
		if evicted = p.eviction; evicted != nil {
			t.mu.evicted--
		}
		p.deferral, p.eviction = nil, nil
	})
	return evicted
}

// addEviction stores the eviction of a waiting pod, so that the pod does not start. A second request for the
// pod only adds its Completion and can shorten the grace period. It stores nothing and returns false if the pod
// does not wait or the loop has stopped.
func (t *sharedPods) addEviction(uid types.UID, request WaitingEviction) (waits bool) {
	t.updateEntry(uid, func(p *sharedPod) {
		if waits = p.deferral != nil && !t.mu.stopped; !waits {
			return
		}
		if p.eviction == nil {
			p.eviction = &eviction{first: request}
			t.mu.evicted++
		}
		p.eviction.grace = p.eviction.grace.Min(lifecycle.GraceFromAPI(request.GraceSeconds))
		if request.Completion != nil {
			p.eviction.completions = append(p.eviction.completions, request.Completion)
		}
	})
	return waits
}

// stopEvictions makes later calls of addEviction return false. It removes and returns the evictions that the
// loop has not handled.
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

// evictedUIDs returns the sorted UIDs of the waiting pods whose eviction the loop has not handled. It returns
// nil if there are none.
func (t *sharedPods) evictedUIDs() []types.UID {
	t.mu.Lock()
	none := t.mu.evicted == 0
	t.mu.Unlock()
	if none {
		return nil
	}
	return t.uidsWhere(func(p *sharedPod) bool { return p.eviction != nil })
}

// takeRecheck reports whether Recheck was called since the last takeRecheck, and clears that request.
func (t *sharedPods) takeRecheck() (requested bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	requested, t.mu.recheck = t.mu.recheck, false
	return requested
}

// Deferred returns why a pod waits for its admission, and false if it does not wait. Any goroutine may call
// it.
func (h *Handlers) Deferred(uid types.UID) (Deferral, bool) {
	if d := h.shared.copyOfEntryOrZero(uid).deferral; d != nil {
		return *d, true
	}
	return Deferral{}, false
}

// IsRefused reports whether a desired pod was rejected, so that it has no worker. A worker with its UID
// terminates a previous incarnation. Any goroutine may call it.
func (h *Handlers) IsRefused(uid types.UID) bool { return h.shared.copyOfEntryOrZero(uid).refused }

// Recheck makes the loop decide again about each waiting pod, because the node has changed. It never blocks,
// and any goroutine may call it.
func (h *Handlers) Recheck() {
	h.shared.mu.Lock()
	h.shared.mu.recheck = true
	h.shared.mu.Unlock()
	h.wake()
}
