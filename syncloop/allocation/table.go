package allocation

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Margin is how much longer than the grace of the others a pod waits that does not wait for as long as
// it takes.
const Margin = 30 * time.Second

// State is how far one incarnation of a pod is with its admission.
type State uint8

// The states. A pod goes from Unknown to Arriving, from there to any of the next three, from Waiting
// to Admitted or Rejected, and from each back to Unknown when it is forgotten. A pod that has to end is
// Terminating, whatever it was before, until its containers have stopped.
const (
	// Unknown: there is no such pod, or nothing is decided about it.
	Unknown State = iota
	// Arriving: a handler is asked about the pod.
	Arriving
	// Waiting: the pod waits until it can be admitted. What it needs is reserved.
	Waiting
	// Admitted: the pod has started, or may.
	Admitted
	// Rejected: the pod does not start, and takes nothing.
	Rejected
	// Terminating: the pod has to end and may still run.
	Terminating
)

// String is the state in lower case.
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
	// WaitWhenFull: a patient pod waits also for pods that need not end, and pods wait in order of
	// their priority, those of one priority in order of arrival.
	WaitWhenFull bool
}

// Table has the pods of a node, what they take of it, and which of them wait. It has one record for
// each UID. Make one with New. It must not be used by two goroutines at once.
type Table struct {
	chain        *Chain
	waitWhenFull bool
	records      map[types.UID]*record

	staying ledger // the pods that are admitted, and those that wait
	ending  ledger

	arrivals []*waiter // about which nothing is decided yet
	waiting  []*waiter // in the order in which the rules are asked about them
	limited  int       // how many of them do not wait for as long as it takes

	// open is the pod about which a handler is asked; nil: none. asked counts questions, and revision
	// counts changes: an answer to a question about an earlier revision is outdated.
	open            *job // &job
	job             job
	pass            *pass // the review that is not complete; nil: none
	asked, revision uint64

	// changed: an answer may be another than at the last Review. anew: the rules may be others, so
	// that no shortage stands.
	changed, anew bool
	// touched are the pods that have changed since the last Update of a Usage. Before the first one
	// the table notes none.
	touched []touch
	tracked bool
}

// touch is a pod that has changed in some part of a table.
type touch struct {
	uid   types.UID
	parts uint8
}

// record is what the table knows of one UID. As long as the pod that ran last under it has to end,
// that is the current one, and a newer pod is its successor.
type record struct {
	current, successor incarnation
	// ran is the incarnation of the UID whose worker may have started something; 0: none has.
	ran uint64
}

// incarnation is one pod that a UID has, or had.
type incarnation struct {
	state State
	wait  *waiter      // of a pod that is Arriving or Waiting
	end   *Termination // of a pod that is Terminating
}

// newest is the pod that is desired, as far as the table knows.
func (r *record) newest() *incarnation {
	if r.current.state == Terminating {
		return &r.successor
	}
	return &r.current
}

// waiter is a pod that arrives, or waits.
type waiter struct {
	pod     Pod
	claimed amounts // by pod
	patient bool
	renewed bool // it may claim less than when it was asked about last
	faults  int  // panics since the last answer
	at      int  // place among those that wait, during a review or an arrival
	answer  Answer
	blocked []types.UID // the pods that it waits for
	until   time.Time
}

// New makes a table without pods.
func New(config Config) *Table {
	chain := cmp.Or(config.Chain, NewChain())
	slots := 1 + len(chain.own)
	return &Table{
		chain: chain, waitWhenFull: config.WaitWhenFull, records: make(map[types.UID]*record),
		staying: ledger{slots: slots}, ending: ledger{slots: slots},
	}
}

// record finds the record of a UID, or makes one.
func (t *Table) record(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{}
		t.records[uid] = r
	}
	return r
}

// drop forgets a record that says nothing.
func (t *Table) drop(uid types.UID, r *record) {
	if r.current.state == Unknown && r.successor.state == Unknown && r.ran == 0 {
		delete(t.records, uid)
	}
}

// set gives the newest pod of a UID a state.
func (t *Table) set(uid types.UID, state State, w *waiter) {
	r := t.record(uid)
	*r.newest() = incarnation{state: state, wait: w}
	t.drop(uid, r)
}

// State returns the state of the newest pod of a UID, and that of a pod that ran before it under the
// UID and has to end: Terminating or Unknown.
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

// waiter is the pod of a UID that waits; nil: none.
func (t *Table) waiter(uid types.UID) *waiter {
	if r := t.records[uid]; r != nil && r.newest().state == Waiting {
		return r.newest().wait
	}
	return nil
}

// Staying returns what the pods take by their built-in claims that are admitted or wait.
func (t *Table) Staying() Sums { return Sums{of: &t.staying} }

// Ending returns what the pods take by their built-in claims that are ending.
func (t *Table) Ending() Sums { return Sums{of: &t.ending} }

// UIDs lists the pods that are admitted, wait, or are ending, in order of arrival.
func (t *Table) UIDs() []types.UID {
	uids := make([]types.UID, 0, t.staying.len()+t.ending.len())
	for _, e := range t.staying.inOrder() {
		uids = append(uids, e.UID)
	}
	for _, e := range t.ending.inOrder() {
		if t.staying.get(e.UID) == nil {
			uids = append(uids, e.UID)
		}
	}
	return uids
}

// Find returns a pod that is admitted, or waits.
func (t *Table) Find(uid types.UID) (*Pod, bool) {
	e := t.staying.get(uid)
	if e == nil {
		return nil, false
	}
	return &e.Pod, true
}

// Needs reports whether a pod that stays, or waits, needs the name or a host port of this pod.
func (t *Table) Needs(pod *Pod) bool {
	needed := false
	for _, key := range pod.Claims.Keys {
		t.Staying().Holders(key, func(h Holder) bool {
			needed = h.UID != pod.UID && (key.Kind != keyHostPort || hostPort(key, h.Value).Conflicts(hostPort(key, key.Value)))
			return !needed
		})
		if needed {
			return true
		}
	}
	return false
}

// Stay counts a pod that needs no admission, or has had it, or renews what it takes. A pod that waits
// goes on waiting, with what it takes now; any other is Admitted.
func (t *Table) Stay(pod Pod) {
	if w := t.waiter(pod.UID); w != nil {
		before := w.pod
		w.pod, w.renewed, w.claimed = pod, true, amountsOf(&pod)
		if t.rank(&before) != t.rank(&pod) {
			t.removeWaiter(w)
			t.waiting = slices.Insert(t.waiting, t.place(w), w)
		}
	} else {
		t.dropArrival(pod.UID)
		t.set(pod.UID, Admitted, nil)
	}
	t.change()
	t.staying.put(pod)
	t.touch(pod.UID, inStaying)
}

// Leave forgets that a pod arrives, waits or stays. A pod that is rejected remains so.
func (t *Table) Leave(uid types.UID) {
	t.dropArrival(uid)
	if _, found := t.staying.remove(uid); !found {
		return
	}
	t.change()
	t.touch(uid, inStaying)
	if w := t.waiter(uid); w != nil {
		t.waitsNoLonger(w)
		t.removeWaiter(w)
	}
	if r := t.records[uid]; r != nil && r.newest().state != Rejected {
		t.set(uid, Unknown, nil)
	}
}

// Reject rejects a pod for a reason of the caller: its node closes, say.
func (t *Table) Reject(uid types.UID) {
	t.Leave(uid)
	t.set(uid, Rejected, nil)
}

// Pardon forgets that a pod was rejected, and reports whether it was.
func (t *Table) Pardon(uid types.UID) bool {
	r := t.records[uid]
	if r == nil || r.newest().state != Rejected {
		return false
	}
	t.set(uid, Unknown, nil)
	return true
}

// Recheck has the next Review ask about each pod again: the node has changed.
func (t *Table) Recheck() {
	t.change()
	t.anew = true
}

// RecheckFaults is Recheck if a handler or rule has panicked that was asked about a pod that waits.
func (t *Table) RecheckFaults() {
	if slices.ContainsFunc(t.waiting, func(w *waiter) bool { return w.faults > 0 }) {
		t.Recheck()
	}
}

// Due reports whether a Review may decide something, whatever the time.
func (t *Table) Due() bool { return t.changed && len(t.waiting) > 0 || t.open != nil }

// WaitingUIDs returns the pods that wait, in the order in which the rules are asked about them. The
// list is the caller's.
func (t *Table) WaitingUIDs() []types.UID {
	uids := make([]types.UID, len(t.waiting))
	for i, w := range t.waiting {
		uids[i] = w.pod.UID
	}
	return uids
}

// Next returns when the time of the first of the pods that wait is over; false if none is limited.
func (t *Table) Next() (next time.Time, timed bool) {
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

// change makes answers to earlier questions outdated.
func (t *Table) change() {
	t.changed = true
	t.revision++
}

// MarkChanged has the next Update of a Usage look at a pod about which the caller decides.
func (t *Table) MarkChanged(uid types.UID) { t.touch(uid, inStaying) }

func (t *Table) touch(uid types.UID, parts uint8) {
	if t.tracked {
		t.touched = append(t.touched, touch{uid, parts})
	}
}

// rank is the place of a pod among those that wait: the highest is first.
func (t *Table) rank(pod *Pod) int32 { return Rank(pod.Priority, t.waitWhenFull) }

// Rank is the place of a pod of this priority among those that wait, by the WaitWhenFull of their
// table: the highest is first.
func Rank(priority int32, waitWhenFull bool) int32 {
	if !waitWhenFull {
		return 0
	}
	return priority
}

// compareRanks orders ranks, the highest first.
func compareRanks(a, b int32) int { return cmp.Compare(b, a) }

// place is the one that a pod would have among those that wait.
func (t *Table) place(w *waiter) int {
	return sort.Search(len(t.waiting), func(i int) bool { return compareRanks(t.rank(&w.pod), t.rank(&t.waiting[i].pod)) < 0 })
}

// waitsNoLonger forgets that a pod is limited. The list of those that wait is the caller's to change.
func (t *Table) waitsNoLonger(w *waiter) {
	if !w.patient {
		t.limited--
	}
}

func (t *Table) removeWaiter(w *waiter) {
	t.waiting = slices.DeleteFunc(t.waiting, func(other *waiter) bool { return other == w })
}

// dropArrival forgets a pod that arrives.
func (t *Table) dropArrival(uid types.UID) {
	r := t.records[uid]
	if r == nil || r.newest().state != Arriving {
		return
	}
	w := r.newest().wait
	t.arrivals = slices.DeleteFunc(t.arrivals, func(other *waiter) bool { return other == w })
	if t.open != nil && t.open.w == w {
		t.open = nil
	}
	t.set(uid, Unknown, nil)
}
