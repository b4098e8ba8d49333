package pleg

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg/internal/diff"
	"github.com/podkeel/podkeel/runtime"
)

// maxEventsPerPeriod is how many runtime events of one pod cause an inspection per period. The
// period is RelistPeriod. A correct runtime sends a few events per container.
const maxEventsPerPeriod = 10

// maxAnnouncements is how often one pod is announced to the subscriptions per RelistPeriod. A
// runtime may report another status at each inspection, and each announcement causes another
// inspection. So after each period in which the limit was exceeded the pod's limit is halved, down
// to one. The pod's other events are held back. A held pod is inspected again, and that inspection
// announces the events if its period has not reached the limit.
const maxAnnouncements = 32

// maxHalvings is how often maxAnnouncements is halved.
const maxHalvings = 5

// table is the state of a PLEG: the cache, the newest listing, and the pods to inspect next. It is
// a plain value: the caller holds the lock, passes the time, calls the runtime and notifies the
// subscribers.
//
// Every observation has a number, assigned when it begins. Each record has the number of its last
// inspection (inspectedNumber). A request for a newer inspection stores the number that must be
// exceeded (wantedNumber). So
//
//	wantedNumber >= inspectedNumber   an inspection is pending: queued or in flight
//	wantedNumber <  inspectedNumber   the result satisfies every request, and every later
//	                                  listing that agrees with it counts as an observation
//
// A failed inspection is a result too. Its record is in retryQueue and becomes pending again when
// requestRetries runs. Until then a reader with a lower mark gets the error at once.
type table struct {
	number           uint64 // of the newest observation begun
	listNumber       uint64 // of the newest listing that succeeded; 0: none
	list             []runtime.Pod
	newestInspection uint64        // number of the newest inspection that succeeded
	merged           []runtime.Pod // cache of listedPodsWithLaterInspections; nil: it must be computed
	records          map[types.UID]*record

	queue      []*record // pending inspections, first come first served
	suspects   []*record // pending inspections of pods whose last inspection timed out
	retryQueue []*record // to be inspected at retryAt or after the next successful listing
	retryAt    time.Time // of all records in retryQueue: one retryDelay after the first was added
	mismatched []*record // records whose status differs from the listing

	limit           int // concurrent inspections at most
	running         int
	runningSuspects int    // running inspections of pods whose last inspection timed out
	waiterCount     uint64 // counts all waiters, for their sequence
	scratch         [2][]diff.Item
	retryDelay      time.Duration

	unknownPods unknownPodLimits
}

// record is the state of one pod: its cache entry and its pending inspection.
type record struct {
	uid             types.UID
	status          *runtime.PodStatus // the newest that was read; nil: none
	err             error              // of the newest inspection
	inspectedNumber uint64             // number of the newest inspection
	statusNumber    uint64             // number of the inspection that read status
	wantedNumber    uint64             // an inspection with a higher number is requested

	index          int       // in the listing; -1: not listed
	indexedInList  uint64    // number of the listing for which index was set
	eventsSince    time.Time // start of the period in which the runtime events are counted
	announcedSince time.Time // start of the period in which announcements are counted
	eventCount     uint32    // runtime events since eventsSince
	announcements  uint32    // announcements since announcedSince, held ones included
	halvings       uint8     // periods in a row with too many announcements
	heldEvents     Events    // not announced yet

	listedTwice       bool // the listing has the pod twice and cannot be trusted
	queued            bool
	inFlight          bool
	inRetryQueue      bool   // the record is in table.retryQueue
	isUnknownPod      bool   // a runtime event created the record, and no inspection has succeeded yet
	lastTimedOut      bool   // the last inspection ran into its deadline
	inSuspectSlot     bool   // the running inspection came from suspects and uses one of their slots
	isMismatched      bool   // the record is in table.mismatched
	lastWarnedRevival string // ID of the container of the last warning that an exited container is reported as not exited
	waiters           []*waiter
}

// waiter is a reader that is blocked in NewerThan.
type waiter struct {
	sequence uint64 // order of arrival
	mark     uint64
	status   *runtime.PodStatus
	err      error
	latch    executor.Latch
}

// nextNumber increments the sequence number of observations (listings and inspections) and returns it.
func (t *table) nextNumber() uint64 {
	t.number++
	return t.number
}

// ensureRecord returns the cache entry of a pod. It creates the entry if there is none.
func (t *table) ensureRecord(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{uid: uid, index: -1}
		t.records[uid] = r
	}
	return r
}

// needsInspection reports whether an inspection of the pod is requested and its result is not stored yet. It
// returns false for a failed inspection whose retry is not requested yet.
func (r *record) needsInspection() bool { return r.wantedNumber >= r.inspectedNumber }

// statusOrEmptyAndError returns the cached status of the pod, or an empty status if there is none, and the error of
// the newest inspection.
func (r *record) statusOrEmptyAndError() (*runtime.PodStatus, error) {
	if r.status == nil {
		return &runtime.PodStatus{UID: r.uid}, r.err
	}
	return r.status, r.err
}

// findStatusNewerThan returns the cached status and error of a pod. ok reports whether they were observed after
// the observation with the given sequence number. A successful listing also observes each pod that needs no
// inspection, and each pod without a cache entry, for which an empty status is returned.
func (t *table) findStatusNewerThan(uid types.UID, number uint64) (status *runtime.PodStatus, err error, ok bool) {
	r := t.records[uid]
	if r == nil {
		return &runtime.PodStatus{UID: uid}, nil, t.listNumber > number
	}
	fresh := r.inspectedNumber
	if !r.needsInspection() {
		fresh = max(fresh, t.listNumber)
	}
	status, err = r.statusOrEmptyAndError()
	return status, err, fresh > number
}

// requestInspection queues the pod, unless it was inspected after the observation with sequence number
// newerThan or is queued already. A pod that is being inspected is queued later, if that inspection began too
// early.
func (t *table) requestInspection(r *record, newerThan uint64) {
	r.wantedNumber = max(r.wantedNumber, newerThan)
	t.enqueueIfPending(r)
}

// requestByEventRateLimited requests an inspection because of a runtime event. If the pod has more than
// maxEventsPerPeriod events in one period, it schedules one delayed inspection, because a runtime may send ten
// thousand events a second (F65).
func (t *table) requestByEventRateLimited(r *record, now time.Time) {
	if age := now.Sub(r.eventsSince); age < 0 || age >= t.retryDelay {
		r.eventsSince, r.eventCount = now, 0
	}
	if r.eventCount++; r.eventCount > maxEventsPerPeriod {
		t.scheduleRetry(r, now)
		return
	}
	t.requestInspection(r, t.number)
}

// rateLimitEvents returns the events that the PLEG must send to the subscriptions now, including those held
// back before. If it sent too many for the pod in this period, it holds the events back and returns 0. The
// limit is halved for each further period with too many events.
func (t *table) rateLimitEvents(r *record, events Events, now time.Time) Events {
	if events |= r.heldEvents; events == 0 {
		return 0
	}
	if age := now.Sub(r.announcedSince); age < 0 || age >= t.retryDelay {
		if r.announcements > maxAnnouncements>>r.halvings {
			r.halvings = min(r.halvings+1, maxHalvings)
		} else {
			r.halvings = 0
		}
		r.announcedSince, r.announcements = now, 0
	}
	if r.announcements++; r.announcements > maxAnnouncements>>r.halvings {
		r.heldEvents = events
		return 0
	}
	r.heldEvents = 0
	return events
}

// enqueueIfPending queues the pod if its inspection is pending and it is neither queued nor being inspected.
// Pods whose last inspection timed out have a separate queue.
func (t *table) enqueueIfPending(r *record) {
	if !r.needsInspection() || r.queued || r.inFlight {
		return
	}
	r.queued = true
	if r.lastTimedOut {
		t.suspects = append(t.suspects, r)
		return
	}
	t.queue = append(t.queue, r)
}

// startNextInspection removes the next pod from the queue, counts its inspection as running and returns the pod
// with the inspection's sequence number. It returns nil if the queue is empty or the concurrency limit is
// reached. Pods whose last inspection timed out may use half of the limit, so that the other pods can use the
// rest.
func (t *table) startNextInspection() (r *record, number uint64) {
	switch {
	case t.running >= t.limit:
		return nil, 0
	case len(t.queue) > 0:
		r, t.queue = popFirst(t.queue)
	case len(t.suspects) > 0 && t.runningSuspects < max(1, t.limit/2):
		r, t.suspects = popFirst(t.suspects)
		r.inSuspectSlot = true
		t.runningSuspects++
	default:
		return nil, 0
	}
	t.running++
	r.queued, r.inFlight = false, true
	return r, t.nextNumber()
}

// popFirst returns the first record of a queue and the rest of the queue. The queue must not be empty.
func popFirst(queue []*record) (*record, []*record) {
	r := queue[0]
	queue[0] = nil
	return r, queue[1:]
}

// releaseInspectionSlot decreases the number of running inspections and records that pod r is not being
// inspected. If r counted against the lower limit for pods whose last inspection timed out, that number
// decreases too.
func (t *table) releaseInspectionSlot(r *record) {
	t.running--
	r.inFlight = false
	if r.inSuspectSlot {
		r.inSuspectSlot = false
		t.runningSuspects--
	}
}

// requeueCancelledInspection decreases the number of running inspections after the PLEG cancelled the
// inspection of r. It queues the pod again, because the inspection is still requested.
func (t *table) requeueCancelledInspection(r *record) {
	t.releaseInspectionSlot(r)
	t.enqueueIfPending(r)
}

// inspectionResult is what the caller must do after an inspection, without the lock.
type inspectionResult struct {
	uid          types.UID
	events       Events
	firstFailure bool // the inspection failed and the one before succeeded
	// revived has the IDs of exited containers that the runtime reported as not exited, for the log.
	revived []string
	waiters []*waiter
}

// storeInspection stores the result of an inspection: the status, or the error. It returns the waiters to
// release and the events to send. It queues the pod again if a newer inspection is requested. It schedules a
// retry after an error, and if the result may be incomplete or events are held back. A result that is older
// than the stored one is discarded (I24).
func (t *table) storeInspection(r *record, number uint64, status *runtime.PodStatus, err error, timedOut bool, now time.Time) inspectionResult {
	t.releaseInspectionSlot(r)
	if number <= r.inspectedNumber {
		t.enqueueIfPending(r)
		return inspectionResult{}
	}
	out := inspectionResult{uid: r.uid}
	r.inspectedNumber = number
	again := err != nil
	if err != nil {
		out.firstFailure = r.err == nil
		if out.firstFailure {
			out.events = PodSync
		}
		r.err = err
	} else {
		again = diff.ReasonMayFollow(r.status, status)
		out.events, out.revived = t.storeStatus(r, status)
		r.statusNumber = number
		t.newestInspection, t.merged = max(t.newestInspection, number), nil
		t.recordUnknownPodInspected(r, r.index >= 0 || !diff.Empty(r.status), now)
	}
	r.lastTimedOut = timedOut
	out.waiters = r.takeSatisfiedWaiters()
	t.enqueueIfPending(r)
	out.events = t.rateLimitEvents(r, out.events, now)
	if again || r.heldEvents != 0 {
		t.scheduleRetry(r, now)
	}
	t.deleteRecordIfGone(r)
	return out
}

// storeStatus stores a successfully read status of a pod, clears its error, and returns the resulting events.
// Exited containers stay exited, and an equal status keeps the old pointer. If the newest listing differs, the
// pod is added to t.mismatched. toWarn has the IDs of exited containers that the runtime reports as not exited;
// it is empty if the last warning had the same first ID.
func (t *table) storeStatus(r *record, status *runtime.PodStatus) (_ Events, toWarn []string) {
	status, revived := diff.Amend(r.status, status)
	if len(revived) > 0 && revived[0] == r.lastWarnedRevival {
		revived = nil
	} else if len(revived) > 0 {
		r.lastWarnedRevival = revived[0]
	}
	failed := r.err != nil
	r.err = nil
	same := diff.Equal(r.status, status)
	var events Events
	if !same {
		before, after := diff.Items(t.scratch[0][:0], r.status), diff.Items(t.scratch[1][:0], status)
		t.scratch = [2][]diff.Item{before, after}
		events = Events(diff.Compare(before, after))
		if events == ContainerRemoved && !diff.OnlyLost(r.status, status) {
			// The sync loop ignores ContainerRemoved alone, because a pod that only lost records
			// needs no sync. Here more has changed, so PodSync is added.
			events |= PodSync
		}
	}
	if !same || r.status == nil {
		r.status = status
	}
	if events == 0 && (failed || !same) {
		events = PodSync
	}
	t.addIfMismatched(r)
	return events, revived
}

// takeSatisfiedWaiters removes and returns the waiters whose request the newest inspection satisfies. It sets
// the status or the error in each; the caller must release them.
func (r *record) takeSatisfiedWaiters() []*waiter {
	var awake []*waiter
	kept := r.waiters[:0]
	for _, w := range r.waiters {
		if w.mark >= r.inspectedNumber {
			kept = append(kept, w)
			continue
		}
		if w.err = r.err; w.err == nil {
			w.status = r.status
		}
		awake = append(awake, w)
	}
	clear(r.waiters[len(kept):])
	r.waiters = kept
	return awake
}

// scheduleRetry adds a pod to the retry queue. It does nothing if the pod is already in that queue or queued
// for inspection. All pods in the retry queue are inspected together, no later than retryDelay after the first
// of them was added.
func (t *table) scheduleRetry(r *record, now time.Time) {
	if r.inRetryQueue || r.queued {
		return
	}
	if len(t.retryQueue) == 0 {
		t.retryAt = now.Add(t.retryDelay)
	}
	r.inRetryQueue = true
	t.retryQueue = append(t.retryQueue, r)
}

// requestRetries requests an inspection of every pod in the retry queue, due or not, and empties that queue.
func (t *table) requestRetries() {
	for _, r := range t.retryQueue {
		r.inRetryQueue = false
		t.requestInspection(r, t.number)
	}
	clear(t.retryQueue)
	t.retryQueue = t.retryQueue[:0]
}

// deleteRecordIfGone deletes the cache entry of a pod that is not listed and has no sandbox or container in its
// status. The entry stays if the last inspection failed, an inspection is pending or will be retried, or a
// reader waits.
func (t *table) deleteRecordIfGone(r *record) {
	gone := r.index < 0 && r.err == nil && diff.Empty(r.status)
	if gone && !r.needsInspection() && !r.inFlight && !r.queued && !r.inRetryQueue && len(r.waiters) == 0 {
		delete(t.records, r.uid)
	}
}

// stopWaiters removes all waiters of all pods, sets their error to ErrStopped, and returns them in order of
// arrival. The caller must release them.
func (t *table) stopWaiters() []*waiter {
	var left []*waiter
	for _, r := range t.records {
		left = append(left, r.waiters...)
		r.waiters = nil
	}
	slices.SortFunc(left, func(a, b *waiter) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, w := range left {
		w.err = ErrStopped
	}
	return left
}
