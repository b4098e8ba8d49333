package allocation

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Usage is a copy of the claims of the pods of a Table, for questions that are asked while the Table decides.
// It also has assumed pods: the host program has passed them to a source, and the Table has not decided about
// them. An assumed pod counts according to the verdict that it would have got when it came. NewUsage makes
// one. The time of each method does not grow with the number of pods. The caller holds a lock.
type Usage struct {
	chain                 *Chain
	admitted, terminating ledger
	// waiting has the waiting pods, the highest rank first.
	waiting []*waitingRank
	pods    map[types.UID]*usagePod
	// withoutVerdict has the assumed pods without a verdict, in the order of Assume. It may have pods that
	// are no longer assumed.
	withoutVerdict []types.UID
	assumed        int
	// lastChange is the number of the last worker change. changes has the worker changes that the Usage
	// may not contain yet, in order.
	lastChange  uint64
	changes     []workerChange // may also have older changes of the same pod
	changedPods int
}

// workerChange is a change that the worker of a pod has reported.
type workerChange struct {
	uid    types.UID
	number uint64
}

// usagePod is what a Usage stores about one UID in addition to its ledgers.
type usagePod struct {
	rankLevel          *waitingRank // nil: the pod does not wait
	assumed            *v1.Pod
	hasVerdict         bool   // the assumed pod has a verdict
	assumedTerminating bool   // the pod counts as terminating before the Table has decided
	lastChange         uint64 // the last worker change that the Usage may not contain yet; 0: none
}

// waitingRank has the waiting pods of one rank.
type waitingRank struct {
	rank int32
	ledger
}

// The parts of a Table in which a pod may have changed.
const (
	inStaying uint8 = 1 << iota
	inTerminating
)

// NewUsage returns a Usage without pods for a table with this chain.
func NewUsage(chain *Chain) *Usage {
	slots := 1 + len(chain.ownRules)
	return &Usage{chain: chain, admitted: ledger{slots: slots}, terminating: ledger{slots: slots}, pods: make(map[types.UID]*usagePod)}
}

// ensurePod returns what the Usage stores about a UID apart from its claims, and creates that entry if it is
// missing.
func (u *Usage) ensurePod(uid types.UID) *usagePod {
	one := u.pods[uid]
	if one == nil {
		one = &usagePod{}
		u.pods[uid] = one
	}
	return one
}

// readPod returns a copy of the entry of a UID, or the zero entry if the UID has none.
func (u *Usage) readPod(uid types.UID) usagePod {
	if one := u.pods[uid]; one != nil {
		return *one
	}
	return usagePod{}
}

// dropIfEmpty deletes the entry of a UID if it is the zero value.
func (u *Usage) dropIfEmpty(uid types.UID) {
	if u.readPod(uid) == (usagePod{}) {
		delete(u.pods, uid)
	}
}

// AddWorkerChange records that the worker of a pod has reported a change. The pod is one of the Suspects until
// an Update after the table has observed the change.
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

// LastWorkerChange returns the number of the last worker change.
func (u *Usage) LastWorkerChange() uint64 { return u.lastChange }

// PendingWorkerChanges returns the number of pods with a worker change that no Update contains.
func (u *Usage) PendingWorkerChanges() int { return u.changedPods }

// dropWorkerChangesUpTo deletes the recorded changes of pod workers whose sequence number is at most number. A
// pod with no later change is then no longer marked as changed.
func (u *Usage) dropWorkerChangesUpTo(number uint64) {
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

// Update copies the changes of the table since the last Update. A table has one Usage. observedChange is the
// number of the last worker change that the table has observed.
func (u *Usage) Update(t *Table, observedChange uint64) {
	u.dropWorkerChangesUpTo(observedChange)
	if !t.tracked {
		t.tracked = true
		for _, uid := range t.UIDs() {
			t.recordChangeForUsage(uid, inStaying|inTerminating)
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
				l := u.ensureLedger(t.findWaiter(uid) != nil, t.waitRank(&e.Pod))
				l.insertAndAddToSums(e)
				u.storeWaitingLedger(uid, t.findWaiter(uid) != nil, t.waitRank(&e.Pod))
			}
		}
		if parts&inTerminating != 0 {
			u.terminating.removePod(uid)
			if e := t.terminating.get(uid); e != nil {
				u.terminating.insertAndAddToSums(e)
			}
		}
		u.dropIfEmpty(uid)
	}
	if t.changedPods = t.changedPods[:0]; cap(t.changedPods) > minKept {
		t.changedPods = nil
	}
}

// minKept is the number of pods for which an empty list keeps its memory.
const minKept = 64

// ensureLedger returns the set of pods to which a pod is added. That is the set of admitted pods if waits is
// false, and the set of waiting pods of this rank if waits is true. A rank is a position in the order of the
// waiting pods, such as their priority. A missing set of a rank is created.
func (u *Usage) ensureLedger(waits bool, rank int32) *ledger {
	if !waits {
		return &u.admitted
	}
	i, found := slices.BinarySearchFunc(u.waiting, rank, func(l *waitingRank, rank int32) int { return compareRanks(l.rank, rank) })
	if !found {
		u.waiting = slices.Insert(u.waiting, i, &waitingRank{rank: rank, ledger: ledger{slots: u.admitted.slots}})
	}
	return &u.waiting[i].ledger
}

// storeWaitingLedger stores for a waiting pod which set of waiting pods has it: the existing set of its rank,
// its position in their order. It does nothing if waits is false.
func (u *Usage) storeWaitingLedger(uid types.UID, waits bool, rank int32) {
	if !waits {
		return
	}
	for _, l := range u.waiting {
		if l.rank == rank {
			u.ensurePod(uid).rankLevel = l
		}
	}
}

// removePod removes an admitted or waiting pod and what it claims. It also deletes the set of waiting pods of a
// rank (a position in their order) that has no pod afterwards.
func (u *Usage) removePod(uid types.UID) {
	l := u.readPod(uid).rankLevel
	if l == nil {
		u.admitted.removePod(uid)
		return
	}
	u.pods[uid].rankLevel = nil
	u.dropIfEmpty(uid)
	if l.removePod(uid); l.len() == 0 {
		u.waiting = slices.DeleteFunc(u.waiting, func(other *waitingRank) bool { return other == l })
	}
}

// Suspect is a pod that counts and may have stopped before the table has observed it.
type Suspect struct {
	UID                   types.UID
	admitted, terminating *entry
}

// Suspects returns the terminating pods, and the admitted pods whose worker has reported a change.
func (u *Usage) Suspects() (suspects []Suspect) {
	for uid, e := range u.terminating.items {
		suspects = append(suspects, Suspect{uid, u.admitted.get(uid), e})
	}
	for _, one := range u.changes {
		e := u.admitted.get(one.uid)
		if e != nil && u.terminating.get(one.uid) == nil && u.readPod(one.uid).lastChange == one.number {
			suspects = append(suspects, Suspect{one.uid, e, nil})
		}
	}
	return suspects
}

// RemoveSuspect stops counting a suspect that has stopped. stays is true if another incarnation of its UID
// is admitted. A pod that was added under the UID after Suspects still counts.
func (u *Usage) RemoveSuspect(s Suspect, stays bool) {
	if s.terminating != nil && u.terminating.get(s.UID) == s.terminating {
		u.terminating.removePod(s.UID)
	}
	if s.admitted != nil && !stays && u.admitted.get(s.UID) == s.admitted {
		u.admitted.removePod(s.UID)
	}
}

// Assume adds a pod that was passed to a source, and replaces an assumed pod of its UID. It does nothing if
// the table has decided about the UID. It reports whether the pod is new.
func (u *Usage) Assume(pod *v1.Pod) (added bool) {
	uid := pod.UID
	wasAssumed := u.readPod(uid).assumed != nil
	if !wasAssumed && (u.admitted.get(uid) != nil || u.readPod(uid).rankLevel != nil) {
		return false
	}
	u.Unassume(uid)
	if len(u.withoutVerdict) > 2*u.assumed {
		u.withoutVerdict = slices.DeleteFunc(u.withoutVerdict, func(uid types.UID) bool { return !u.awaitsVerdict(uid) })
	}
	u.ensurePod(uid).assumed = pod
	u.assumed++
	u.withoutVerdict = append(u.withoutVerdict, uid)
	return !wasAssumed
}

// awaitsVerdict reports whether a UID has an assumed pod without a verdict. An assumed pod is one that the host
// program has passed to a source and that the table has not decided about.
func (u *Usage) awaitsVerdict(uid types.UID) bool {
	one := u.readPod(uid)
	return one.assumed != nil && !one.hasVerdict
}

// AssumeTerminating counts an admitted pod as terminating, and stops counting a waiting pod, until the table has
// decided about it.
func (u *Usage) AssumeTerminating(uid types.UID) {
	e, waits := u.admitted.get(uid), u.readPod(uid).rankLevel != nil
	if u.readPod(uid).assumed != nil || !waits && (e == nil || u.terminating.get(uid) != nil) {
		return
	}
	if u.removePod(uid); !waits { // A pod that waits has never started.
		u.terminating.insertAndAddToSums(e)
	}
	u.ensurePod(uid).assumedTerminating = true
}

// Unassume removes an assumed pod.
func (u *Usage) Unassume(uid types.UID) {
	one := u.pods[uid]
	if one == nil || one.assumed == nil {
		return
	}
	hadVerdict := one.hasVerdict
	one.assumed, one.hasVerdict = nil, false
	if u.assumed--; u.assumed == 0 {
		u.withoutVerdict = nil
	}
	if hadVerdict {
		u.removePod(uid)
	}
	u.dropIfEmpty(uid)
}

// Assumed returns the assumed pods. The caller owns the list.
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

// CountAssumed counts an assumed pod according to its verdict.
func (u *Usage) CountAssumed(pod Pod, rank int32, verdict State) {
	one := u.pods[pod.UID]
	if one == nil || one.hasVerdict || one.assumed == nil || one.assumed != pod.Pod {
		return // The table has decided about the pod meanwhile, or it has a verdict.
	}
	one.hasVerdict = true
	if verdict == Rejected {
		return
	}
	l := u.ensureLedger(verdict == Waiting, rank)
	l.insertAndAddToSums(&entry{Pod: pod, arrival: max(l.arrived+1, arrivalOfAssumed)})
	u.storeWaitingLedger(pod.UID, verdict == Waiting, rank)
}

// arrivalOfAssumed is an arrival number that is greater than all arrival numbers of a table.
const arrivalOfAssumed = 1 << 62

// SnapshotFor returns the pods beside which a pod would start if it came now and the pods gone had stopped.
// list makes the snapshot contain the list of pods, which takes time in proportion to their number. Later
// changes of the Usage do not change the snapshot.
func (u *Usage) SnapshotFor(pod *Pod, rank int32, withList bool, stopped ...types.UID) Snapshot {
	before := []*ledger{&u.admitted}
	for _, l := range u.waiting {
		if compareRanks(l.rank, rank) <= 0 {
			before = append(before, &l.ledger)
		}
	}
	// A pod does not wait for its previous incarnation.
	return newSnapshot(copySums(pod, withList, stopped, before...), copySums(pod, withList, stopped, &u.terminating))
}

// Allocated returns the sum of the requests of the admitted pods that have not stopped, assumed pods included.
func (u *Usage) Allocated() v1.ResourceList {
	x := copySums(&Pod{}, false, nil, &u.admitted, &u.terminating)
	list := make(v1.ResourceList, len(x.claimed))
	for _, a := range x.claimed {
		if a.slot == 0 {
			list[a.name] = a.Quantity
		}
	}
	return list
}
