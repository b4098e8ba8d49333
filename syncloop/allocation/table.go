package allocation

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Margin is added to the grace periods of the pods that a pod waits for. When that time is over a pod that is
// not patient is rejected.
const Margin = 30 * time.Second

// State is the state of the admission of one incarnation of a pod.
type State uint8

// The states. A pod goes from Unknown to Arriving, from there to any of the next three, from Waiting
// to Admitted or Rejected, and from each back to Unknown when it is forgotten. A pod that has to end is
// Terminating, whatever it was before, until its containers have stopped.
const (
	// Unknown: there is no such pod, or the table has not decided about it.
	Unknown State = iota
	// Arriving: a handler is asked about the pod.
	Arriving
	// Waiting: the pod waits until it can be admitted. What it needs is reserved.
	Waiting
	// Admitted: the pod has started, or may.
	Admitted
	// Rejected: the pod does not start, and claims nothing.
	Rejected
	// Terminating: the pod has to end and may still run.
	Terminating
)

// String returns the state in lower case.
func (s State) String() string {
	if s > Terminating {
		return "?"
	}
	return [...]string{"unknown", "arriving", "waiting", "admitted", "rejected", "terminating"}[s]
}

// Config is what a Table needs.
type Config struct {
	// Chain are the rules; nil admits every pod.
	Chain *Chain
	// WaitWhenFull: a patient pod waits also for pods that need not end, and pods wait in the order of
	// their priority. Pods of one priority wait in the order of arrival.
	WaitWhenFull bool
}

// Table has the pods of a node, their claims, and which of them wait. It has one record for each UID. Make one
// with New. Two goroutines must not use it at once.
type Table struct {
	chain        *Chain
	waitWhenFull bool
	records      map[types.UID]*record

	staying     ledger // the pods that are admitted, and those that wait
	terminating ledger

	arrivals []*waiter // the pods about which the table has not decided
	waiting  []*waiter // in the order in which the table decides about them
	limited  int       // how many of the waiting pods are not patient

	// open is the pod about which a handler is asked; nil: none. asked counts questions, and revision
	// counts changes: an answer to a question about an earlier revision is outdated.
	open                *job // &job
	job                 job
	review              *reviewProgress // the review that is not complete; nil: none
	questions, revision uint64

	// changed: an answer may differ from the last Review. anew: the rules may decide differently, so
	// that no shortage stands.
	changed, recheckAll bool
	// changedPods are the pods that have changed since the last Update of a Usage. Before the first one
	// the table notes none.
	changedPods []changedPod
	tracked     bool
}

// changedPod is a pod that has changed in some part of a table.
type changedPod struct {
	uid   types.UID
	parts uint8
}

// record is what the table knows of one UID. As long as the last pod that ran under the UID has to end, it is
// the current one, and a newer pod is its successor.
type record struct {
	current, successor incarnation
	// ran is the incarnation of the UID whose worker may have started containers; 0: there is none.
	ran uint64
}

// incarnation is one pod that a UID has, or had.
type incarnation struct {
	state State
	wait  *waiter      // of a pod that is Arriving or Waiting
	end   *Termination // of a pod that is Terminating
}

// newest returns the pod that is desired, as far as the table knows.
func (r *record) newest() *incarnation {
	if r.current.state == Terminating {
		return &r.successor
	}
	return &r.current
}

// findWaiter is a pod that arrives or waits.
type waiter struct {
	pod           Pod
	claimed       amounts // by pod
	patient       bool
	claimsChanged bool // the claims may be smaller than at the last decision
	faults        int  // panics since the last answer
	position      int  // place among those that wait, during a review or an arrival
	answer        Answer
	blockers      []types.UID // the pods that it waits for
	until         time.Time
}

// New makes a table without pods.
func New(config Config) *Table {
	chain := cmp.Or(config.Chain, NewChain())
	slots := 1 + len(chain.ownRules)
	return &Table{
		chain: chain, waitWhenFull: config.WaitWhenFull, records: make(map[types.UID]*record),
		staying: ledger{slots: slots}, terminating: ledger{slots: slots},
	}
}

// record returns the record of a UID, and makes it if there is none.
func (t *Table) record(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{}
		t.records[uid] = r
	}
	return r
}

// dropIfEmpty removes an empty record.
func (t *Table) dropIfEmpty(uid types.UID, r *record) {
	if r.current.state == Unknown && r.successor.state == Unknown && r.ran == 0 {
		delete(t.records, uid)
	}
}

// setState gives the newest pod of a UID a state.
func (t *Table) setState(uid types.UID, state State, w *waiter) {
	r := t.record(uid)
	*r.newest() = incarnation{state: state, wait: w}
	t.dropIfEmpty(uid, r)
}

// State returns the state of the newest pod of a UID, and the state of the pod before it, which is
// Terminating if that pod has to end, and Unknown otherwise.
func (t *Table) State(uid types.UID) (newest, previous State) {
	r := t.records[uid]
	if r == nil {
		return Unknown, Unknown
	}
	if r.current.state == Terminating {
		return r.successor.state, Terminating
	}
	return r.current.state, Unknown
}

// Len returns how many UIDs the table knows.
func (t *Table) Len() int { return len(t.records) }

// findWaiter returns the pod of a UID that waits, or nil.
func (t *Table) findWaiter(uid types.UID) *waiter {
	if r := t.records[uid]; r != nil && r.newest().state == Waiting {
		return r.newest().wait
	}
	return nil
}

// StayingSums returns the sums of the built-in claims of the pods that are admitted or wait.
func (t *Table) StayingSums() Sums { return Sums{pods: &t.staying} }

// TerminatingSums returns the sums of the built-in claims of the pods that are ending.
func (t *Table) TerminatingSums() Sums { return Sums{pods: &t.terminating} }

// UIDs lists the pods that are admitted, wait, or are ending, in order of arrival.
func (t *Table) UIDs() []types.UID {
	uids := make([]types.UID, 0, t.staying.len()+t.terminating.len())
	for _, e := range t.staying.entriesInOrder() {
		uids = append(uids, e.UID)
	}
	for _, e := range t.terminating.entriesInOrder() {
		if t.staying.get(e.UID) == nil {
			uids = append(uids, e.UID)
		}
	}
	return uids
}

// StayingPod returns a pod that is admitted, or waits.
func (t *Table) StayingPod(uid types.UID) (*Pod, bool) {
	e := t.staying.get(uid)
	if e == nil {
		return nil, false
	}
	return &e.Pod, true
}

// ConflictsWith reports whether a pod that is admitted or waits needs the name or a host port of this pod.
func (t *Table) ConflictsWith(pod *Pod) bool {
	needed := false
	for _, key := range pod.Claims.Keys {
		t.StayingSums().Holders(key, func(h Holder) bool {
			needed = h.UID != pod.UID && (key.Kind != keyHostPort || hostPortOfKey(key, h.Value).Conflicts(hostPortOfKey(key, key.Value)))
			return !needed
		})
		if needed {
			return true
		}
	}
	return false
}

// SetStaying counts a pod that needs no admission, was admitted before, or has changed. A pod that waits goes on
// waiting with its new claims. Any other pod is Admitted.
func (t *Table) SetStaying(pod Pod) {
	if w := t.findWaiter(pod.UID); w != nil {
		before := w.pod
		w.pod, w.claimsChanged, w.claimed = pod, true, claimedAmounts(&pod)
		if t.waitRank(&before) != t.waitRank(&pod) {
			t.removeWaiter(w)
			t.waiting = slices.Insert(t.waiting, t.waitPosition(w), w)
		}
	} else {
		t.removeArrival(pod.UID)
		t.setState(pod.UID, Admitted, nil)
	}
	t.invalidateAnswers()
	t.staying.put(pod)
	t.recordChange(pod.UID, inStaying)
}

// Remove removes the newest pod of a UID, unless it is Rejected.
func (t *Table) Remove(uid types.UID) {
	t.removeArrival(uid)
	if _, found := t.staying.remove(uid); !found {
		return
	}
	t.invalidateAnswers()
	t.recordChange(uid, inStaying)
	if w := t.findWaiter(uid); w != nil {
		t.decrementLimited(w)
		t.removeWaiter(w)
	}
	if r := t.records[uid]; r != nil && r.newest().state != Rejected {
		t.setState(uid, Unknown, nil)
	}
}

// Reject rejects a pod for a reason of the caller, such as a node that drains.
func (t *Table) Reject(uid types.UID) {
	t.Remove(uid)
	t.setState(uid, Rejected, nil)
}

// ClearRejection makes a Rejected pod Unknown, and reports whether it was Rejected.
func (t *Table) ClearRejection(uid types.UID) bool {
	r := t.records[uid]
	if r == nil || r.newest().state != Rejected {
		return false
	}
	t.setState(uid, Unknown, nil)
	return true
}

// Recheck has the next Review decide again about each pod that waits, because the node has changed.
func (t *Table) Recheck() {
	t.invalidateAnswers()
	t.recheckAll = true
}

// RecheckFaults calls Recheck if a handler or rule has panicked for a pod that waits.
func (t *Table) RecheckFaults() {
	if slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.faults > 0 }) {
		t.Recheck()
	}
}

// NeedsReview reports whether a Review may change something before Next.
func (t *Table) NeedsReview() bool { return t.changed && len(t.waiting) > 0 || t.open != nil }

// WaitingUIDs returns the pods that wait, in the order in which the table decides about them. The list is the
// caller's.
func (t *Table) WaitingUIDs() []types.UID {
	uids := make([]types.UID, len(t.waiting))
	for i, w := range t.waiting {
		uids[i] = w.pod.UID
	}
	return uids
}

// NextLimit returns the earliest limit of the pods that wait, and false if none has a limit.
func (t *Table) NextLimit() (next time.Time, timed bool) {
	if t.limited == 0 {
		return next, false
	}
	for _, w := range t.waiting {
		if !w.until.IsZero() && (!timed || w.until.Before(next)) {
			next, timed = w.until, true
		}
	}
	return next, timed
}

// invalidateAnswers makes answers to earlier questions outdated.
func (t *Table) invalidateAnswers() {
	t.changed = true
	t.revision++
}

// MarkChanged has the next Update of a Usage copy a pod about which the caller decides.
func (t *Table) MarkChanged(uid types.UID) { t.recordChange(uid, inStaying) }

func (t *Table) recordChange(uid types.UID, parts uint8) {
	if t.tracked {
		t.changedPods = append(t.changedPods, changedPod{uid, parts})
	}
}

// waitRank returns the rank of a pod in the order of the pods that wait. The highest rank is first.
func (t *Table) waitRank(pod *Pod) int32 { return Rank(pod.Priority, t.waitWhenFull) }

// Rank returns the rank of a pod of this priority in the order of the pods that wait, by the WaitWhenFull of
// their table. The highest rank is first.
func Rank(priority int32, waitWhenFull bool) int32 {
	if !waitWhenFull {
		return 0
	}
	return priority
}

// compareRanks orders ranks, the highest first.
func compareRanks(a, b int32) int { return cmp.Compare(b, a) }

// position returns the index that a pod would have among the pods that wait.
func (t *Table) waitPosition(w *waiter) int {
	return sort.Search(len(t.waiting), func(i int) bool { return compareRanks(t.waitRank(&w.pod), t.waitRank(&t.waiting[i].pod)) < 0 })
}

// decrementLimited updates limited for a pod that waits no longer. The caller removes the pod from waiting.
func (t *Table) decrementLimited(w *waiter) {
	if !w.patient {
		t.limited--
	}
}

func (t *Table) removeWaiter(w *waiter) {
	t.waiting = slices.DeleteFunc(t.waiting, func(other *waiter) bool { return other == w })
}

// removeArrival removes a pod that arrives.
func (t *Table) removeArrival(uid types.UID) {
	r := t.records[uid]
	if r == nil || r.newest().state != Arriving {
		return
	}
	w := r.newest().wait
	t.arrivals = slices.DeleteFunc(t.arrivals, func(other *waiter) bool { return other == w })
	if t.open != nil && t.open.w == w {
		t.open = nil
	}
	t.setState(uid, Unknown, nil)
}
