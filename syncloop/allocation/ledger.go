package allocation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// ledger has several pods, at most one for each UID, and the sums of their claims. The zero value has no pods
// and only the built-in claims. The time of each method depends on the claims of one pod and on the number of
// pods that share a key.
type ledger struct {
	slots   int
	items   map[types.UID]*entry
	sums    []sum // by slot
	arrived uint64
	// list has the pods in order of arrival; nil: the method pods makes it.
	list []*v1.Pod
}

// sum is the sum of the claims of all pods by one rule.
type sum struct {
	quantities map[v1.ResourceName]resource.Quantity
	first      map[keyID]*entry   // the first pod with the key, by arrival
	more       map[keyID][]*entry // the other pods with the key, in order of arrival; most keys have none
}

// entry is a pod in a ledger. It is immutable, so several ledgers may share it.
type entry struct {
	Pod
	arrival uint64 // position in the order of arrival
}

// putPod adds a pod to the ledger, a set of pods with the sums of what they claim, and returns its entry. It
// replaces a pod with the same UID; the new pod then keeps the old position in the order of arrival.
func (l *ledger) putPod(pod Pod) *entry {
	e := &entry{Pod: pod, arrival: l.arrived + 1}
	if old := l.items[pod.UID]; old != nil {
		e.arrival = old.arrival
		l.removePod(pod.UID)
	}
	l.insertAndAddToSums(e)
	return e
}

// insertAndAddToSums adds the entry of a pod to the ledger, and the pod's claims to the sums. The ledger must
// not have the UID yet. The entry's own arrival number decides its position among the pods.
func (l *ledger) insertAndAddToSums(e *entry) {
	if l.items == nil {
		l.items = make(map[types.UID]*entry)
		l.sums = make([]sum, max(l.slots, 1))
		for i := range l.sums {
			l.sums[i] = sum{make(map[v1.ResourceName]resource.Quantity), make(map[keyID]*entry), make(map[keyID][]*entry)}
		}
	}
	l.items[e.UID] = e
	switch {
	case e.arrival <= l.arrived:
		l.list = nil
	case l.list != nil:
		l.list = append(l.list, e.Pod.Pod) // Slices that callers have do not change.
	}
	l.arrived = max(l.arrived, e.arrival)
	for slot := range l.sums {
		l.sums[slot].addClaims(e, e.claimsAt(slot))
	}
}

// addClaims adds the quantities of a pod to the sums, and adds the pod to the list of each host port, pod name
// or other key that it claims.
func (s *sum) addClaims(e *entry, claims *Claims) {
	for name, q := range claims.Quantities {
		have := s.quantities[name] // The ledger owns the quantity, so Add may change it in place.
		have.Add(q)
		s.quantities[name] = have
	}
	for i := range claims.Keys {
		k := claims.Keys[i].keyWithoutValue()
		switch first := s.first[k]; {
		case first == nil || first == e:
			s.first[k] = e
		case compareArrivals(e, first) < 0:
			s.first[k] = e
			s.more[k] = insertEntry(s.more[k], first)
		default:
			s.more[k] = insertEntry(s.more[k], e)
		}
	}
}

// removePod removes the pod of a UID, subtracts what it claims from the sums, and returns its entry. It returns
// false if there is no such pod.
func (l *ledger) removePod(uid types.UID) (*entry, bool) {
	e := l.items[uid]
	if e == nil {
		return nil, false
	}
	delete(l.items, uid)
	l.list = nil
	for slot := range l.sums {
		l.sums[slot].subtractClaims(e, e.claimsAt(slot))
	}
	return e, true
}

// subtractClaims subtracts the quantities of a pod from the sums, and removes the pod from the list of each
// host port, pod name or other key that it claims. Sums of zero and empty lists are deleted.
func (s *sum) subtractClaims(e *entry, claims *Claims) {
	for name, q := range claims.Quantities {
		have := s.quantities[name]
		have.Sub(q)
		s.quantities[name] = have
		if have.IsZero() {
			delete(s.quantities, name)
		}
	}
	for i := range claims.Keys {
		k := claims.Keys[i].keyWithoutValue()
		next := e
		if s.first[k] == e {
			if len(s.more[k]) == 0 {
				delete(s.first, k)
				continue
			}
			next = s.more[k][0]
			s.first[k] = next
		}
		removeEntry(s.more, k, next)
	}
}

func (l *ledger) get(uid types.UID) *entry { return l.items[uid] }

func (l *ledger) len() int { return len(l.items) }

// entriesInOrder returns a new list of all entries in the order of arrival.
func (l *ledger) entriesInOrder() []*entry {
	entries := make([]*entry, 0, len(l.items))
	for _, e := range l.items {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, compareArrivals)
	return entries
}

// listPods returns the pods in the order of arrival. It keeps the list for later calls, so the caller must not
// modify the list's elements.
func (l *ledger) listPods() []*v1.Pod {
	if l.list == nil {
		l.list = make([]*v1.Pod, 0, len(l.items))
		for _, e := range l.entriesInOrder() {
			l.list = append(l.list, e.Pod.Pod)
		}
	}
	return slices.Clip(l.list)
}

// compareArrivals compares two entries by their order of arrival.
func compareArrivals(a, b *entry) int { return cmp.Compare(a.arrival, b.arrival) }

// requestedQuantity returns a copy of the sum of a quantity over all pods. slot selects the claims: 0 for the
// built-in rules, and n for the n-th rule of the host program. The sum is zero if no pod claims the quantity.
func (l *ledger) requestedQuantity(slot int, name v1.ResourceName) resource.Quantity {
	if slot >= len(l.sums) {
		return resource.Quantity{}
	}
	q := l.sums[slot].quantities[name]
	return q.DeepCopy()
}

// forEachHolder calls yield with each pod that claims a key, such as a host port or a pod name, in the order of
// arrival, until yield returns false. slot selects the rule: 0 for the built-in rules, and n for the n-th rule
// of the host program.
func (l *ledger) forEachHolder(slot int, key keyID, yield func(*entry) bool) {
	if slot >= len(l.sums) {
		return
	}
	first := l.sums[slot].first[key]
	if first == nil || !yield(first) {
		return
	}
	for _, e := range l.sums[slot].more[key] {
		if !yield(e) {
			return
		}
	}
}

// insertEntry returns the list with the entry of a pod inserted in the order of arrival. It returns the list
// unchanged if the pod is in it.
func insertEntry(list []*entry, e *entry) []*entry {
	i, found := slices.BinarySearchFunc(list, e, compareArrivals)
	if found {
		return list
	}
	return slices.Insert(list, i, e)
}

// removeEntry removes the entry of a pod from the list of a key, if the list has it. It deletes a list that is
// empty afterwards.
func removeEntry(lists map[keyID][]*entry, k keyID, e *entry) {
	list := lists[k]
	for i := range list {
		if list[i] == e {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(lists, k)
		return
	}
	lists[k] = list
}
