package allocation

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Margin is added to the grace periods of the terminating pods that a pod waits for. A pod with a limited wait
// is rejected when that time is over.
const Margin = 30 * time.Second

// State is the admission state of one incarnation of a pod.
type State uint8

// The states. A pod goes from Unknown to Arriving, then to Waiting, Admitted or Rejected. A waiting pod
// becomes Admitted or Rejected. A pod that is removed becomes Unknown. If a handler or rule panics, an Arriving
// pod becomes Unknown too. SetStaying makes each pod Admitted that does not wait, also a Rejected one. Reject
// makes any pod Rejected. A terminating pod is Terminating, whatever its state was before, until its
// containers have stopped.
const (
	// Unknown: the table has no such pod, or has not decided about it.
	Unknown State = iota
	// Arriving: the table asks a handler about the new pod, or decides about an earlier pod first. The claims
	// of the new pod do not count yet.
	Arriving
	// Waiting: the pod waits until it can be admitted. Its claims are reserved.
	Waiting
	// Admitted: the pod has started, or may start.
	Admitted
	// Rejected: the pod does not start and has no claims.
	Rejected
	// Terminating: the pod is terminating and its containers may still run.
	Terminating
)

// String returns the state in lower case.
func (s State) String() string {
	if s > Terminating {
		return "?"
	}
	return [...]string{"unknown", "arriving", "waiting", "admitted", "rejected", "terminating"}[s]
}

// Config configures a Table.
type Config struct {
	// Chain has the rules; nil has none. Snapshot.NameConflicts may refuse a static pod even then.
	Chain *Chain
	// WaitWhenFull makes patient pods, which wait without a limit, wait also for pods that are not
	// terminating. Waiting pods are then ordered by priority, and pods of equal priority by arrival.
	WaitWhenFull bool
}

// Table has the pods of a node with their claims and admission states, one record for each UID. New makes one.
// It is not safe for concurrent use.
type Table struct {
	chain        *Chain
	waitWhenFull bool
	records      map[types.UID]*record

	staying     ledger // the admitted and the waiting pods
	terminating ledger

	arrivals  []*waiter // the pods that the table has not decided about
	waiting   []*waiter // in the order of decisions
	impatient int       // number of waiting pods that are not patient

	// open is the decision that waits for a handler; nil: none. questions counts questions, and revision
	// counts changes. An answer to a question of an earlier revision is outdated.
	open                *job // &job
	job                 job
	review              *reviewProgress // the review in progress; nil: none
	questions, revision uint64

	// changed is true if an answer may differ from the last Review. recheckAll is true if the rules may decide
	// differently, so that no Shortage is valid.
	changed, recheckAll bool

	// resizing are the pods with a resize request. DecideResizes removes those whose record has none.
	// decideResizes is true if a request is new or an answer may differ. recheckResizes is true if an
	// infeasible request may have become feasible.
	resizing                      []types.UID
	decideResizes, recheckResizes bool

	// changedPods are the pods that have changed since the last Update of a Usage. They are recorded
	// after the first Update, which sets tracked.
	changedPods []changedPod
	tracked     bool
}

// changedPod is a pod that has changed in some parts of a table.
type changedPod struct {
	uid   types.UID
	parts uint8
}

// record has the pods of one UID. While the current pod terminates, a newer pod of the UID is its successor.
type record struct {
	current, successor incarnation
	// activeIncarnation is the incarnation of the last worker without a requested termination. Observe sets
	// it before the worker has Started, and clears it if the worker terminates before that. 0: none, or the
	// workers have no incarnation numbers.
	activeIncarnation uint64
}

// incarnation is one pod of a UID.
type incarnation struct {
	state       State
	wait        *waiter      // if the state is Arriving or Waiting
	termination *Termination // if the state is Terminating
	resize      *resize      // if the state is Admitted and the pod requests other resources; nil: none
}

// newestIncarnation returns the newest pod with the UID: while the current pod terminates, its successor, which
// may be empty; otherwise the current pod.
func (r *record) newestIncarnation() *incarnation {
	if r.current.state == Terminating {
		return &r.successor
	}
	return &r.current
}

// waiter is a pod that is Arriving or Waiting.
type waiter struct {
	pod           Pod
	claimed       amounts // the quantities that pod claims
	patient       bool    // it waits without a limit
	claimsChanged bool    // the claims may have become smaller since the last decision
	faults        int     // panics since the last answer without a panic
	position      int     // index among the waiting pods, during a review or an arrival
	answer        Answer
	blockers      []types.UID // the pods that this pod waits for
	until         time.Time
}

// New returns a table without pods.
func New(config Config) *Table {
	chain := cmp.Or(config.Chain, NewChain())
	slots := 1 + len(chain.ownRules)
	return &Table{
		chain: chain, waitWhenFull: config.WaitWhenFull, records: make(map[types.UID]*record),
		staying: ledger{slots: slots}, terminating: ledger{slots: slots},
	}
}

// ensureRecord returns the record of a UID, which holds the states of its pods. It creates the record if it is
// missing.
func (t *Table) ensureRecord(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{}
		t.records[uid] = r
	}
	return r
}

// dropIfEmpty deletes the record of a UID if it has neither a pod nor the number of an active worker.
func (t *Table) dropIfEmpty(uid types.UID, r *record) {
	if r.current.state == Unknown && r.successor.state == Unknown && r.activeIncarnation == 0 {
		delete(t.records, uid)
	}
}

// setState sets the state of the newest pod with a UID and clears what else was stored about that pod. w is the
// waiting entry, or nil. A missing record is created. A record that is empty afterwards is deleted.
func (t *Table) setState(uid types.UID, state State, w *waiter) {
	r := t.ensureRecord(uid)
	*r.newestIncarnation() = incarnation{state: state, wait: w}
	t.dropIfEmpty(uid, r)
}

// State returns the state of the newest pod of a UID, and the state of the pod before it: Terminating if that
// pod terminates, and Unknown otherwise.
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

// Len returns the number of UIDs in the table.
func (t *Table) Len() int { return len(t.records) }

// findWaiter returns the entry of the newest pod with a UID if that pod waits for admission, or nil.
func (t *Table) findWaiter(uid types.UID) *waiter {
	if r := t.records[uid]; r != nil && r.newestIncarnation().state == Waiting {
		return r.newestIncarnation().wait
	}
	return nil
}

// StayingSums returns the sums of the built-in claims of the admitted and the waiting pods.
func (t *Table) StayingSums() Sums { return Sums{pods: &t.staying} }

// TerminatingSums returns the sums of the built-in claims of the terminating pods.
func (t *Table) TerminatingSums() Sums { return Sums{pods: &t.terminating} }

// UIDs returns the staying pods in order of arrival, and then the terminating pods whose UID has no staying
// pod, in the order in which their terminations began.
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

// StayingPod returns the admitted or waiting pod of a UID, and false if there is none.
func (t *Table) StayingPod(uid types.UID) (*Pod, bool) {
	e := t.staying.get(uid)
	if e == nil {
		return nil, false
	}
	return &e.Pod, true
}

// ConflictsWith reports whether another admitted or waiting pod needs the full name or a host port of this
// pod.
func (t *Table) ConflictsWith(pod *Pod) bool {
	conflict := false
	for _, key := range pod.Claims.Keys {
		t.StayingSums().Holders(key, func(h Holder) bool {
			conflict = h.UID != pod.UID && (key.Kind != keyHostPort || hostPortOfKey(key, h.Value).Conflicts(hostPortOfKey(key, key.Value)))
			return !conflict
		})
		if conflict {
			return true
		}
	}
	return false
}

// SetStaying counts a pod that needs no admission, was admitted before, or has a new spec. A waiting pod goes
// on waiting with its new claims. Any other pod becomes Admitted, also a Rejected one.
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
		t.admitKeepingResize(pod.UID)
	}
	t.invalidateAnswersAndRequestReview()
	t.staying.putPod(pod)
	t.recordChangeForUsage(pod.UID, inStaying)
}

// admitKeepingResize makes the newest pod of a UID Admitted. If it is Admitted already, its resize request stays.
func (t *Table) admitKeepingResize(uid types.UID) {
	if i := t.ensureRecord(uid).newestIncarnation(); i.state != Admitted {
		t.setState(uid, Admitted, nil)
	}
}

// Remove removes the newest pod of a UID, unless it is Rejected. A terminating pod of the UID still counts.
func (t *Table) Remove(uid types.UID) {
	t.removeArrival(uid)
	if _, found := t.staying.removePod(uid); !found {
		return
	}
	t.invalidateAnswersAndRequestReview()
	t.recordChangeForUsage(uid, inStaying)
	if w := t.findWaiter(uid); w != nil {
		t.decrementImpatient(w)
		t.removeWaiter(w)
	}
	if r := t.records[uid]; r != nil && r.newestIncarnation().state != Rejected {
		t.setState(uid, Unknown, nil)
	}
}

// Reject rejects a pod for a reason of the caller, for example because the node drains.
func (t *Table) Reject(uid types.UID) {
	t.Remove(uid)
	t.setState(uid, Rejected, nil)
}

// ClearRejection makes a Rejected pod Unknown, and reports whether the pod was Rejected.
func (t *Table) ClearRejection(uid types.UID) bool {
	r := t.records[uid]
	if r == nil || r.newestIncarnation().state != Rejected {
		return false
	}
	t.setState(uid, Unknown, nil)
	return true
}

// Recheck makes the next Review decide again about every waiting pod, and the next DecideResizes about every
// resize request, because the node has changed.
func (t *Table) Recheck() {
	t.invalidateAnswersAndRequestReview()
	t.recheckAll, t.recheckResizes = true, true
}

// RecheckFaults calls Recheck if a handler or rule has panicked for a waiting pod. It makes the next DecideResizes decide
// again about deferred resize requests if a rule has panicked for one of them.
func (t *Table) RecheckFaults() {
	t.decideResizes = t.decideResizes || len(t.ResizesWithFaults()) > 0
	if slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.faults > 0 }) {
		t.Recheck()
	}
}

// NeedsReview reports whether a Review may change something before NextLimit.
func (t *Table) NeedsReview() bool { return t.changed && len(t.waiting) > 0 || t.open != nil }

// WaitingUIDs returns the waiting pods in the order in which the table decides about them. The caller owns the
// list.
func (t *Table) WaitingUIDs() []types.UID {
	uids := make([]types.UID, len(t.waiting))
	for i, w := range t.waiting {
		uids[i] = w.pod.UID
	}
	return uids
}

// NextLimit returns the earliest limit of the waiting pods, and false if none has a limit.
func (t *Table) NextLimit() (next time.Time, timed bool) {
	if t.impatient == 0 {
		return next, false
	}
	for _, w := range t.waiting {
		if !w.until.IsZero() && (!timed || w.until.Before(next)) {
			next, timed = w.until, true
		}
	}
	return next, timed
}

// invalidateAnswersAndRequestReview makes all answers to earlier questions outdated, and makes the next Review decide about the
// waiting pods again.
func (t *Table) invalidateAnswersAndRequestReview() {
	t.changed = true
	t.decideResizes = t.decideResizes || len(t.resizing) > 0
	t.revision++
}

// MarkChanged makes the next Update of a Usage copy a pod that the caller decides about.
func (t *Table) MarkChanged(uid types.UID) { t.recordChangeForUsage(uid, inStaying) }

// recordChangeForUsage records a change of a pod for the next Update of a Usage, the copy of the table for
// other goroutines. The bits in parts say whether the pod has changed among the admitted and waiting pods, or
// among the terminating pods. Before the first Update it records nothing.
func (t *Table) recordChangeForUsage(uid types.UID, parts uint8) {
	if t.tracked {
		t.changedPods = append(t.changedPods, changedPod{uid, parts})
	}
}

// waitRank returns the rank of a pod in the order of the waiting pods; the highest rank comes first. If pods
// may wait on a full node, the rank is the priority. If not, all pods have the same rank.
func (t *Table) waitRank(pod *Pod) int32 { return Rank(pod.Priority, t.waitWhenFull) }

// Rank returns the rank of a pod with this priority among the waiting pods of a table with this WaitWhenFull.
// The highest rank is first. Without WaitWhenFull all ranks are equal.
func Rank(priority int32, waitWhenFull bool) int32 {
	if !waitWhenFull {
		return 0
	}
	return priority
}

// compareRanks compares two ranks in the order of the waiting pods, so that the higher rank sorts first.
func compareRanks(a, b int32) int { return cmp.Compare(b, a) }

// waitPosition returns the index at which a pod is to be inserted into the waiting pods: after all pods of the
// same or a higher rank.
func (t *Table) waitPosition(w *waiter) int {
	return sort.Search(len(t.waiting), func(i int) bool { return compareRanks(t.waitRank(&w.pod), t.waitRank(&t.waiting[i].pod)) < 0 })
}

// decrementImpatient decrements the number of waiting pods with a time limit if the pod is one of them, that
// is, not patient. The caller removes the pod from the waiting pods.
func (t *Table) decrementImpatient(w *waiter) {
	if !w.patient {
		t.impatient--
	}
}

// removeWaiter removes a pod from the list of waiting pods. It changes no state and no counter.
func (t *Table) removeWaiter(w *waiter) {
	t.waiting = slices.DeleteFunc(t.waiting, func(other *waiter) bool { return other == w })
}

// removeArrival removes the newest pod of a UID if the table has not decided about it yet, and cancels an open
// decision about it. Its state becomes Unknown. It does nothing if the pod is not Arriving.
func (t *Table) removeArrival(uid types.UID) {
	r := t.records[uid]
	if r == nil || r.newestIncarnation().state != Arriving {
		return
	}
	w := r.newestIncarnation().wait
	t.arrivals = slices.DeleteFunc(t.arrivals, func(other *waiter) bool { return other == w })
	if t.open != nil && t.open.w == w {
		t.open = nil
	}
	t.setState(uid, Unknown, nil)
}
