package allocation

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Usage is a copy of the claims of the pods of a Table, for questions that are asked while the Table decides.
// It also has assumed pods: the host program has handed them over, and the Table has not decided about them.
// An assumed pod counts by the verdict that it would have got when it came. Make one with NewUsage. No method
// takes time in proportion to the number of pods. The caller locks it.
type Usage struct {
	chain           *Chain
	staying, ending ledger
	// waiting are the pods that wait, the highest rank first.
	waiting []*level
	pods    map[types.UID]*used
	// unjudged are the assumed pods without a verdict, in the order of Assume. It may have pods that are
	// no longer assumed.
	unjudged []types.UID
	assumed  int
	// notes counts the notes. noted has those that the Usage may not show yet, in their order.
	notes     uint64
	noted     []note // it may have older notes of a pod too
	notedPods int
}

// note is a pod whose worker has reported a change.
type note struct {
	uid    types.UID
	number uint64
}

// used is what a Usage knows of one UID beside its ledgers.
type used struct {
	waits   *level // nil: it does not wait
	assumed *v1.Pod
	judged  bool   // of an assumed pod
	leaving bool   // it is counted as ending before the Table has it so
	noted   uint64 // the newest note that the Usage may not show yet; 0: none
}

// level are the pods of one rank that wait.
type level struct {
	rank int32
	ledger
}

// The parts of a Table in which a pod may have changed.
const (
	inStaying uint8 = 1 << iota
	inEnding
)

// NewUsage makes a Usage without pods for a table with this chain.
func NewUsage(chain *Chain) *Usage {
	slots := 1 + len(chain.own)
	return &Usage{chain: chain, staying: ledger{slots: slots}, ending: ledger{slots: slots}, pods: make(map[types.UID]*used)}
}

// of returns the entry of a UID, and makes it if there is none.
func (u *Usage) of(uid types.UID) *used {
	one := u.pods[uid]
	if one == nil {
		one = &used{}
		u.pods[uid] = one
	}
	return one
}

// known returns a copy of the entry of a UID. It is zero if there is none.
func (u *Usage) known(uid types.UID) used {
	if one := u.pods[uid]; one != nil {
		return *one
	}
	return used{}
}

// drop removes an empty entry.
func (u *Usage) drop(uid types.UID) {
	if u.known(uid) == (used{}) {
		delete(u.pods, uid)
	}
}

// AddWorkerChange notes that the worker of a pod has reported a change. Until an Update that heeds the note the pod is one
// of the Suspects.
func (u *Usage) AddWorkerChange(uid types.UID) {
	u.notes++
	one := u.of(uid)
	if one.noted == 0 {
		u.notedPods++
	}
	one.noted = u.notes
	if u.noted = append(u.noted, note{uid, u.notes}); len(u.noted) > 2*u.notedPods+minKept {
		u.noted = slices.DeleteFunc(u.noted, func(n note) bool { return u.known(n.uid).noted != n.number })
	}
}

// LastWorkerChange returns the number of the newest note.
func (u *Usage) LastWorkerChange() uint64 { return u.notes }

// PendingWorkerChanges returns how many pods have a note that no Update has heeded.
func (u *Usage) PendingWorkerChanges() int { return u.notedPods }

// heed drops the notes up to this one.
func (u *Usage) heed(number uint64) {
	n := 0
	for n < len(u.noted) && u.noted[n].number <= number {
		if one := u.pods[u.noted[n].uid]; one != nil && one.noted <= number {
			if one.noted > 0 {
				u.notedPods--
			}
			one.noted = 0
			u.drop(u.noted[n].uid)
		}
		n++
	}
	if u.noted = u.noted[n:]; len(u.noted) == 0 {
		u.noted = nil
	}
}

// Update copies what has changed in the table since the last Update. A table has one Usage. heeded is the number
// of the newest note that the table has taken into account.
func (u *Usage) Update(t *Table, heeded uint64) {
	u.heed(heeded)
	if !t.tracked {
		t.tracked = true
		for _, uid := range t.UIDs() {
			t.touch(uid, inStaying|inEnding)
		}
	}
	for _, one := range t.touched {
		uid, parts := one.uid, one.parts
		if u.known(uid).leaving {
			u.pods[uid].leaving = false
			parts |= inStaying | inEnding
		}
		if parts&inStaying != 0 {
			u.Unassume(uid)
			u.leave(uid)
			if e := t.staying.get(uid); e != nil {
				l := u.at(t.waiter(uid) != nil, t.rank(&e.Pod))
				l.insert(e)
				u.wait(uid, t.waiter(uid) != nil, t.rank(&e.Pod))
			}
		}
		if parts&inEnding != 0 {
			u.ending.remove(uid)
			if e := t.ending.get(uid); e != nil {
				u.ending.insert(e)
			}
		}
		u.drop(uid)
	}
	if t.touched = t.touched[:0]; cap(t.touched) > minKept {
		t.touched = nil
	}
}

// minKept is for how many pods an empty list keeps its memory.
const minKept = 64

// at is where a pod of this rank is counted.
func (u *Usage) at(waits bool, rank int32) *ledger {
	if !waits {
		return &u.staying
	}
	i, found := slices.BinarySearchFunc(u.waiting, rank, func(l *level, rank int32) int { return compareRanks(l.rank, rank) })
	if !found {
		u.waiting = slices.Insert(u.waiting, i, &level{rank: rank, ledger: ledger{slots: u.staying.slots}})
	}
	return &u.waiting[i].ledger
}

// wait notes where a pod that waits is counted.
func (u *Usage) wait(uid types.UID, waits bool, rank int32) {
	if !waits {
		return
	}
	for _, l := range u.waiting {
		if l.rank == rank {
			u.of(uid).waits = l
		}
	}
}

// leave removes a pod that stays or waits.
func (u *Usage) leave(uid types.UID) {
	l := u.known(uid).waits
	if l == nil {
		u.staying.remove(uid)
		return
	}
	u.pods[uid].waits = nil
	u.drop(uid)
	if l.remove(uid); l.len() == 0 {
		u.waiting = slices.DeleteFunc(u.waiting, func(other *level) bool { return other == l })
	}
}

// Suspect is a pod that counts and may have ended before the table knows it.
type Suspect struct {
	UID             types.UID
	staying, ending *entry
}

// Suspects returns the pods that are ending, and the pods that stay and have a note.
func (u *Usage) Suspects() (suspects []Suspect) {
	for uid, e := range u.ending.items {
		suspects = append(suspects, Suspect{uid, u.staying.get(uid), e})
	}
	for _, one := range u.noted {
		e := u.staying.get(one.uid)
		if e != nil && u.ending.get(one.uid) == nil && u.known(one.uid).noted == one.number {
			suspects = append(suspects, Suspect{one.uid, e, nil})
		}
	}
	return suspects
}

// RemoveSuspect stops counting a suspect that has ended. stays says that another incarnation of its UID stays. A pod
// that came under the UID after Suspects goes on counting.
func (u *Usage) RemoveSuspect(s Suspect, stays bool) {
	if s.ending != nil && u.ending.get(s.UID) == s.ending {
		u.ending.remove(s.UID)
	}
	if s.staying != nil && !stays && u.staying.get(s.UID) == s.staying {
		u.staying.remove(s.UID)
	}
}

// Assume notes a pod that has been handed over, in place of an assumed one of its UID. It does nothing
// if the table has decided about the UID. It reports whether the pod is new.
func (u *Usage) Assume(pod *v1.Pod) (added bool) {
	uid := pod.UID
	known := u.known(uid).assumed != nil
	if !known && (u.staying.get(uid) != nil || u.known(uid).waits != nil) {
		return false
	}
	u.Unassume(uid)
	if len(u.unjudged) > 2*u.assumed {
		u.unjudged = slices.DeleteFunc(u.unjudged, func(uid types.UID) bool { return !u.isUnjudged(uid) })
	}
	u.of(uid).assumed = pod
	u.assumed++
	u.unjudged = append(u.unjudged, uid)
	return !known
}

func (u *Usage) isUnjudged(uid types.UID) bool {
	one := u.known(uid)
	return one.assumed != nil && !one.judged
}

// AssumeTerminating counts a pod that stays as ending, and stops counting a pod that waits, until the table has
// decided about it.
func (u *Usage) AssumeTerminating(uid types.UID) {
	e, waits := u.staying.get(uid), u.known(uid).waits != nil
	if u.known(uid).assumed != nil || !waits && (e == nil || u.ending.get(uid) != nil) {
		return
	}
	if u.leave(uid); !waits { // A pod that waits has never started.
		u.ending.insert(e)
	}
	u.of(uid).leaving = true
}

// Unassume removes a pod that is assumed.
func (u *Usage) Unassume(uid types.UID) {
	one := u.pods[uid]
	if one == nil || one.assumed == nil {
		return
	}
	judged := one.judged
	one.assumed, one.judged = nil, false
	if u.assumed--; u.assumed == 0 {
		u.unjudged = nil
	}
	if judged {
		u.leave(uid)
	}
	u.drop(uid)
}

// Assumed lists the assumed pods. The list is the caller's.
func (u *Usage) Assumed() (uids []types.UID) {
	if u.assumed == 0 {
		return nil
	}
	for uid := range maps.Keys(u.pods) {
		if u.pods[uid].assumed != nil {
			uids = append(uids, uid)
		}
	}
	return uids
}

// NextWithoutVerdict returns the first assumed pod without a verdict, or nil.
func (u *Usage) NextWithoutVerdict() *v1.Pod {
	for len(u.unjudged) > 0 {
		if uid := u.unjudged[0]; u.isUnjudged(uid) {
			return u.pods[uid].assumed
		}
		u.unjudged = u.unjudged[1:]
	}
	u.unjudged = nil
	return nil
}

// CountAssumed counts an assumed pod by the verdict on it.
func (u *Usage) CountAssumed(pod Pod, rank int32, verdict State) {
	one := u.pods[pod.UID]
	if one == nil || one.judged || one.assumed == nil || one.assumed != pod.Pod {
		return // The table has decided about the pod meanwhile, or it has a verdict.
	}
	one.judged = true
	if verdict == Rejected {
		return
	}
	l := u.at(verdict == Waiting, rank)
	l.insert(&entry{Pod: pod, at: max(l.arrived+1, afterAll)})
	u.wait(pod.UID, verdict == Waiting, rank)
}

// afterAll is later than the arrival of any pod in a table.
const afterAll = 1 << 62

// SnapshotFor returns the pods that a pod would start beside if it came now and the pods gone had ended. list says
// that a handler lists the pods, which takes time in proportion to their number. The snapshot does not change
// with the Usage.
func (u *Usage) SnapshotFor(pod *Pod, rank int32, list bool, gone ...types.UID) Snapshot {
	before := []*ledger{&u.staying}
	for _, l := range u.waiting {
		if compareRanks(l.rank, rank) <= 0 {
			before = append(before, &l.ledger)
		}
	}
	// A pod does not wait for its own previous incarnation.
	return snapshot(extractOf(pod, list, gone, before...), extractOf(pod, list, gone, &u.ending))
}

// Allocated returns the sum of the requests of the pods that are admitted, or assumed to be, and have not
// ended.
func (u *Usage) Allocated() v1.ResourceList {
	x := extractOf(&Pod{}, false, nil, &u.staying, &u.ending)
	list := make(v1.ResourceList, len(x.claimed))
	for _, a := range x.claimed {
		if a.slot == 0 {
			list[a.name] = a.Quantity
		}
	}
	return list
}
