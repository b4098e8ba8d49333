package allocation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// amounts is a short list of quantities by name.
type amounts []amount

type amount struct {
	slot int
	name v1.ResourceName
	resource.Quantity
}

// claimedAmounts returns copies of all quantities that a pod claims, for the built-in rules and for the rules
// of the host program.
func claimedAmounts(pod *Pod) amounts {
	all := make(amounts, 0, len(pod.Claims.Quantities))
	for slot := range 1 + len(pod.ownClaims) {
		for name, q := range pod.claimsAt(slot).Quantities {
			all = append(all, amount{slot, name, q.DeepCopy()})
		}
	}
	return all
}

// findQuantity returns a pointer to the amount with a name, or nil if there is none. slot selects the rule that
// the amount belongs to: 0 for the built-in rules, and n for the n-th rule of the host program.
func (a amounts) findQuantity(slot int, name v1.ResourceName) *resource.Quantity {
	for i := range a {
		if a[i].name == name && a[i].slot == slot {
			return &a[i].Quantity
		}
	}
	return nil
}

// addQuantity adds q to the amount with the same name and slot (the rule that the amount belongs to). If there
// is no such amount, it appends a copy of q.
func (a *amounts) addQuantity(slot int, name v1.ResourceName, q resource.Quantity) {
	if have := a.findQuantity(slot, name); have != nil {
		have.Add(q)
		return
	}
	*a = append(*a, amount{slot, name, q.DeepCopy()})
}

// mustSubtractInPlace subtracts other amounts from a. It panics if others has an amount with a name and slot
// (the rule that it belongs to) that a does not have.
func (a amounts) mustSubtractInPlace(others amounts) {
	for i := range others {
		a.findQuantity(others[i].slot, others[i].name).Sub(others[i].Quantity)
	}
}

// waitOrderPrefix has the admitted pods of a table and the waiting pods before a place. Its sums are the sums
// of all pods without the waiting pods from that place on, so no pod has to be removed for a question. The
// place is an index into the pods that waited when admittedAndWaitersBefore was called.
type waitOrderPrefix struct {
	table *Table
	place int
	all   int     // number of waiting pods at that time
	after amounts // the claims of the waiting pods from that place on
}

// admittedAndWaitersBefore returns the set of the admitted pods and the waiting pods with an index less than
// place. If a waiting pod is left out, it also stores the index of every waiting pod in the pod's position.
func (t *Table) admittedAndWaitersBefore(place int) *waitOrderPrefix {
	b := &waitOrderPrefix{table: t, place: place, all: len(t.waiting)}
	if place == b.all {
		return b
	}
	for i, w := range t.waiting {
		w.position = i
		if i >= place {
			for j := range w.claimed {
				b.after.addQuantity(w.claimed[j].slot, w.claimed[j].name, w.claimed[j].Quantity)
			}
		}
	}
	return b
}

// includesPod reports whether one of the staying pods, which are the admitted and the waiting pods, belongs to
// the set: the pod is admitted, or waits at an index less than place. It does not check that the UID is one of
// a staying pod.
func (b *waitOrderPrefix) includesPod(uid types.UID) bool {
	w := b.table.findWaiter(uid)
	return w == nil || b.place == b.all || w.position < b.place
}

func (b *waitOrderPrefix) len() int { return b.table.staying.len() - (b.all - b.place) }

func (b *waitOrderPrefix) requestedQuantity(slot int, name v1.ResourceName) resource.Quantity {
	q := b.table.staying.requestedQuantity(slot, name)
	if after := b.after.findQuantity(slot, name); after != nil {
		q.Sub(*after)
	}
	return q
}

func (b *waitOrderPrefix) forEachHolder(slot int, key keyID, yield func(*entry) bool) {
	b.table.staying.forEachHolder(slot, key, func(e *entry) bool { return !b.includesPod(e.UID) || yield(e) })
}

func (b *waitOrderPrefix) listPods() []*v1.Pod {
	if b.place == b.all {
		return b.table.staying.listPods()
	}
	var pods []*v1.Pod
	for _, e := range b.table.staying.entriesInOrder() {
		if b.includesPod(e.UID) {
			pods = append(pods, e.Pod.Pod)
		}
	}
	return pods
}

// ledgerWithout is a ledger without a few of its pods.
type ledgerWithout struct {
	*ledger
	excluded []types.UID
}

// isExcluded reports whether the pod of a UID does not count, because this view leaves it out.
func (w ledgerWithout) isExcluded(uid types.UID) bool { return slices.Contains(w.excluded, uid) }

func (w ledgerWithout) len() int {
	n := w.ledger.len()
	for _, uid := range w.excluded {
		if w.ledger.get(uid) != nil {
			n--
		}
	}
	return n
}

func (w ledgerWithout) requestedQuantity(slot int, name v1.ResourceName) resource.Quantity {
	q := w.ledger.requestedQuantity(slot, name)
	for _, uid := range w.excluded {
		if e := w.ledger.get(uid); e != nil {
			q.Sub(e.claimsAt(slot).Quantities[name])
		}
	}
	return q
}

func (w ledgerWithout) forEachHolder(slot int, key keyID, yield func(*entry) bool) {
	w.ledger.forEachHolder(slot, key, func(e *entry) bool { return w.isExcluded(e.UID) || yield(e) })
}

func (w ledgerWithout) listPods() []*v1.Pod {
	if w.len() == w.ledger.len() {
		return w.ledger.listPods()
	}
	var pods []*v1.Pod
	for _, e := range w.ledger.entriesInOrder() {
		if !w.isExcluded(e.UID) {
			pods = append(pods, e.Pod.Pod)
		}
	}
	return pods
}

// copiedSums is a copy of the sums that the rules need for a decision about one pod, without the claims of
// that pod. Later changes of the ledgers do not change it.
type copiedSums struct {
	count   int
	claimed amounts
	held    map[slotKey][]*entry // the other pods that have a key of the pod
	list    []*v1.Pod
}

// slotKey is a key in the claims of one rule.
type slotKey struct {
	slot int
	keyID
}

// copySums returns a copy of the sums of what the pods in several ledgers claim, without pod itself and the
// pods in stopped. It also copies which of the other pods claim a host port, name or other key that pod claims.
// The list of the pods is copied only if withList is true, because its time grows with the number of pods.
func copySums(pod *Pod, withList bool, stopped []types.UID, ledgers ...*ledger) *copiedSums {
	x := &copiedSums{}
	stopped = append([]types.UID{pod.UID}, stopped...)
	for _, l := range ledgers {
		x.count += l.len()
		for slot := range l.sums {
			for name, q := range l.sums[slot].quantities {
				x.claimed.addQuantity(slot, name, q)
			}
		}
		for i, uid := range stopped {
			if !slices.Contains(stopped[:i], uid) {
				x.subtractPod(l.get(uid))
			}
		}
		x.copyHolders(pod, ledgerWithout{l, stopped})
		if withList {
			x.list = append(x.list, ledgerWithout{l, stopped}.listPods()...)
		}
	}
	return x
}

// subtractPod subtracts one pod, and what it claims, from the copied sums. It does nothing if e is nil.
func (x *copiedSums) subtractPod(e *entry) {
	if e == nil {
		return
	}
	x.count--
	for slot := range 1 + len(e.ownClaims) {
		for name, q := range e.claimsAt(slot).Quantities {
			q = q.DeepCopy()
			q.Neg()
			x.claimed.addQuantity(slot, name, q)
		}
	}
}

// copyHolders stores, for each host port, name or other key that pod claims, which of the other pods claim it
// too.
func (x *copiedSums) copyHolders(pod *Pod, others ledgerWithout) {
	for slot := range 1 + len(pod.ownClaims) {
		for _, key := range pod.claimsAt(slot).Keys {
			k := slotKey{slot, key.keyWithoutValue()}
			others.forEachHolder(slot, k.keyID, func(e *entry) bool {
				if !slices.Contains(x.held[k], e) {
					if x.held == nil {
						x.held = make(map[slotKey][]*entry)
					}
					x.held[k] = append(x.held[k], e)
				}
				return true
			})
		}
	}
}

func (x *copiedSums) len() int { return x.count }

func (x *copiedSums) requestedQuantity(slot int, name v1.ResourceName) resource.Quantity {
	if q := x.claimed.findQuantity(slot, name); q != nil {
		return q.DeepCopy()
	}
	return resource.Quantity{}
}

func (x *copiedSums) forEachHolder(slot int, key keyID, yield func(*entry) bool) {
	for _, e := range x.held[slotKey{slot, key}] {
		if !yield(e) {
			return
		}
	}
}

// listPods returns the pods, or nil if copySums was called without withList.
func (x *copiedSums) listPods() []*v1.Pod { return x.list }
