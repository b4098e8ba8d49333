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
	chain                *Chain
	staying, terminating ledger
	// waiting are the pods that wait, the highest rank first.
	waiting []*waitingRank
	pods    map[types.UID]*usagePod
	// withoutVerdict are the assumed pods without a verdict, in the order of Assume. It may have pods that are
	// no longer assumed.
	withoutVerdict []types.UID
	assumed        int
	// lastChange counts the notes. noted has those that the Usage may not show yet, in their order.
	lastChange  uint64
	changes     []workerChange // it may have older notes of a pod too
	changedPods int
}

// workerChange is a pod whose worker has reported a change.
type workerChange struct {
	uid    types.UID
	number uint64
}

// usagePod is what a Usage knows of one UID beside its ledgers.
type usagePod struct {
	rankLevel          *waitingRank // nil: it does not wait
	assumed            *v1.Pod
	hasVerdict         bool   // of an assumed pod
	assumedTerminating bool   // it is counted as ending before the Table has it so
	lastChange         uint64 // the newest note that the Usage may not show yet; 0: none
}

// waitingRank are the pods of one rank that wait.
type waitingRank struct {
	rank int32
	ledger
}

// The parts of a Table in which a pod may have changed.
const (
	inStaying uint8 = 1 << iota
	inTerminating
)

// NewUsage makes a Usage without pods for a table with this chain.
func NewUsage(chain *Chain) *Usage {
	slots := 1 + len(chain.ownRules)
	return &Usage{chain: chain, staying: ledger{slots: slots}, terminating: ledger{slots: slots}, pods: make(map[types.UID]*usagePod)}
}

// ensurePod returns the entry of a UID, and makes it if there is none.
func (u *Usage) ensurePod(uid types.UID) *usagePod {
	one := u.pods[uid]
	if one == nil {
		one = &usagePod{}
		u.pods[uid] = one
	}
	return one
}

// readPod returns a copy of the entry of a UID. It is zero if there is none.
func (u *Usage) readPod(uid types.UID) usagePod {
	if one := u.pods[uid]; one != nil {
		return *one
	}
	return usagePod{}
}

// dropIfEmpty removes an empty entry.
func (u *Usage) dropIfEmpty(uid types.UID) {
	if u.readPod(uid) == (usagePod{}) {
		delete(u.pods, uid)
	}
}

// AddWorkerChange notes that the worker of a pod has reported a change. Until an Update that heeds the note the pod is one
// of the Suspects.
func (u *Usage) AddWorkerChange(uid types.UID) {
	u.lastChange++
	one := u.ensurePod(uid)
	if one.lastChange == 0 {
		u.changedPods++
	}
	one.lastChange = u.lastChange
	if u.changes = append(u.changes, workerChange{uid, u.lastChange}); len(u.changes) > 2*u.changedPods+minKept {
		u.changes = slices.DeleteFunc(u.changes, func(n workerChange) bool { return u.readPod(n.uid).lastChange != n.number })
	}
}

// LastWorkerChange returns the number of the newest note.
func (u *Usage) LastWorkerChange() uint64 { return u.lastChange }

// PendingWorkerChanges returns how many pods have a note that no Update has heeded.
func (u *Usage) PendingWorkerChanges() int { return u.changedPods }

// dropWorkerChanges drops the notes up to this one.
func (u *Usage) dropWorkerChanges(number uint64) {
	n := 0
	for n < len(u.changes) && u.changes[n].number <= number {
		if one := u.pods[u.changes[n].uid]; one != nil && one.lastChange <= number {
			if one.lastChange > 0 {
				u.changedPods--
			}
			one.lastChange = 0
			u.dropIfEmpty(u.changes[n].uid)
		}
		n++
	}
	if u.changes = u.changes[n:]; len(u.changes) == 0 {
		u.changes = nil
	}
}

// Update copies what has changed in the table since the last Update. A table has one Usage. heeded is the number
// of the newest note that the table has taken into account.
func (u *Usage) Update(t *Table, heeded uint64) {
	u.dropWorkerChanges(heeded)
	if !t.tracked {
		t.tracked = true
		for _, uid := range t.UIDs() {
			t.recordChange(uid, inStaying|inTerminating)
		}
	}
	for _, one := range t.changedPods {
		uid, parts := one.uid, one.parts
		if u.readPod(uid).assumedTerminating {
			u.pods[uid].assumedTerminating = false
			parts |= inStaying | inTerminating
		}
		if parts&inStaying != 0 {
			u.Unassume(uid)
			u.removePod(uid)
			if e := t.staying.get(uid); e != nil {
				l := u.ledgerFor(t.findWaiter(uid) != nil, t.waitRank(&e.Pod))
				l.insert(e)
				u.recordRank(uid, t.findWaiter(uid) != nil, t.waitRank(&e.Pod))
			}
		}
		if parts&inTerminating != 0 {
			u.terminating.remove(uid)
			if e := t.terminating.get(uid); e != nil {
				u.terminating.insert(e)
			}
		}
		u.dropIfEmpty(uid)
	}
	if t.changedPods = t.changedPods[:0]; cap(t.changedPods) > minKept {
		t.changedPods = nil
	}
}

// minKept is for how many pods an empty list keeps its memory.
const minKept = 64

// ledgerFor is where a pod of this rank is counted.
func (u *Usage) ledgerFor(waits bool, rank int32) *ledger {
	if !waits {
		return &u.staying
	}
	i, found := slices.BinarySearchFunc(u.waiting, rank, func(l *waitingRank, rank int32) int { return compareRanks(l.rank, rank) })
	if !found {
		u.waiting = slices.Insert(u.waiting, i, &waitingRank{rank: rank, ledger: ledger{slots: u.staying.slots}})
	}
	return &u.waiting[i].ledger
}

// recordRank notes where a pod that waits is counted.
func (u *Usage) recordRank(uid types.UID, waits bool, rank int32) {
	if !waits {
		return
	}
	for _, l := range u.waiting {
		if l.rank == rank {
			u.ensurePod(uid).rankLevel = l
		}
	}
}

// removePod removes a pod that stays or waits.
func (u *Usage) removePod(uid types.UID) {
	l := u.readPod(uid).rankLevel
	if l == nil {
		u.staying.remove(uid)
		return
	}
	u.pods[uid].rankLevel = nil
	u.dropIfEmpty(uid)
	if l.remove(uid); l.len() == 0 {
		u.waiting = slices.DeleteFunc(u.waiting, func(other *waitingRank) bool { return other == l })
	}
}

// Suspect is a pod that counts and may have ended before the table knows it.
type Suspect struct {
	UID             types.UID
	staying, ending *entry
}

// Suspects returns the pods that are ending, and the pods that stay and have a note.
func (u *Usage) Suspects() (suspects []Suspect) {
	for uid, e := range u.terminating.items {
		suspects = append(suspects, Suspect{uid, u.staying.get(uid), e})
	}
	for _, one := range u.changes {
		e := u.staying.get(one.uid)
		if e != nil && u.terminating.get(one.uid) == nil && u.readPod(one.uid).lastChange == one.number {
			suspects = append(suspects, Suspect{one.uid, e, nil})
		}
	}
	return suspects
}

// RemoveSuspect stops counting a suspect that has ended. stays says that another incarnation of its UID stays. A pod
// that came under the UID after Suspects goes on counting.
func (u *Usage) RemoveSuspect(s Suspect, stays bool) {
	if s.ending != nil && u.terminating.get(s.UID) == s.ending {
		u.terminating.remove(s.UID)
	}
	if s.staying != nil && !stays && u.staying.get(s.UID) == s.staying {
		u.staying.remove(s.UID)
	}
}

// Assume notes a pod that has been handed over, in place of an assumed one of its UID. It does nothing
// if the table has decided about the UID. It reports whether the pod is new.
func (u *Usage) Assume(pod *v1.Pod) (added bool) {
	uid := pod.UID
	known := u.readPod(uid).assumed != nil
	if !known && (u.staying.get(uid) != nil || u.readPod(uid).rankLevel != nil) {
		return false
	}
	u.Unassume(uid)
	if len(u.withoutVerdict) > 2*u.assumed {
		u.withoutVerdict = slices.DeleteFunc(u.withoutVerdict, func(uid types.UID) bool { return !u.awaitsVerdict(uid) })
	}
	u.ensurePod(uid).assumed = pod
	u.assumed++
	u.withoutVerdict = append(u.withoutVerdict, uid)
	return !known
}

func (u *Usage) awaitsVerdict(uid types.UID) bool {
	one := u.readPod(uid)
	return one.assumed != nil && !one.hasVerdict
}

// AssumeTerminating counts a pod that stays as ending, and stops counting a pod that waits, until the table has
// decided about it.
func (u *Usage) AssumeTerminating(uid types.UID) {
	e, waits := u.staying.get(uid), u.readPod(uid).rankLevel != nil
	if u.readPod(uid).assumed != nil || !waits && (e == nil || u.terminating.get(uid) != nil) {
		return
	}
	if u.removePod(uid); !waits { // A pod that waits has never started.
		u.terminating.insert(e)
	}
	u.ensurePod(uid).assumedTerminating = true
}

// Unassume removes a pod that is assumed.
func (u *Usage) Unassume(uid types.UID) {
	one := u.pods[uid]
	if one == nil || one.assumed == nil {
		return
	}
	judged := one.hasVerdict
	one.assumed, one.hasVerdict = nil, false
	if u.assumed--; u.assumed == 0 {
		u.withoutVerdict = nil
	}
	if judged {
		u.removePod(uid)
	}
	u.dropIfEmpty(uid)
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
	for len(u.withoutVerdict) > 0 {
		if uid := u.withoutVerdict[0]; u.awaitsVerdict(uid) {
			return u.pods[uid].assumed
		}
		u.withoutVerdict = u.withoutVerdict[1:]
	}
	u.withoutVerdict = nil
	return nil
}

// CountAssumed counts an assumed pod by the verdict on it.
func (u *Usage) CountAssumed(pod Pod, rank int32, verdict State) {
	one := u.pods[pod.UID]
	if one == nil || one.hasVerdict || one.assumed == nil || one.assumed != pod.Pod {
		return // The table has decided about the pod meanwhile, or it has a verdict.
	}
	one.hasVerdict = true
	if verdict == Rejected {
		return
	}
	l := u.ledgerFor(verdict == Waiting, rank)
	l.insert(&entry{Pod: pod, at: max(l.arrived+1, arrivalOfAssumed)})
	u.recordRank(pod.UID, verdict == Waiting, rank)
}

// arrivalOfAssumed is later than the arrival of any pod in a table.
const arrivalOfAssumed = 1 << 62

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
	return newSnapshot(copySums(pod, list, gone, before...), copySums(pod, list, gone, &u.terminating))
}

// Allocated returns the sum of the requests of the pods that are admitted, or assumed to be, and have not
// ended.
func (u *Usage) Allocated() v1.ResourceList {
	x := copySums(&Pod{}, false, nil, &u.staying, &u.terminating)
	list := make(v1.ResourceList, len(x.claimed))
	for _, a := range x.claimed {
		if a.slot == 0 {
			list[a.name] = a.Quantity
		}
	}
	return list
}
