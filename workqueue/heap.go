package workqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// dueHeap is a binary heap of entries that also finds the entry of a UID.
//
// order holds slot numbers, and a slot holds its index in order. So sifting moves small numbers and
// does not use the map: the map is read or written once per call, not once per level.
type dueHeap struct {
	index        map[types.UID]int32 // slot number of each UID
	slots        []slot
	free         []int32 // slots without an entry
	order        []int32 // slot numbers, as a heap by (due, sequence)
	lastSequence uint64
}

// slot is one entry. A slot does not move while its entry exists.
type slot struct {
	uid      types.UID
	due      time.Duration // since the queue's epoch
	sequence uint64        // number of the set call: equal times are returned in this order
	place    int32         // index in order
}

// len returns the number of entries.
func (h *dueHeap) len() int { return len(h.order) }

// mustEarliestSlot returns a pointer to the entry that is due first. It panics if the heap is empty.
func (h *dueHeap) mustEarliestSlot() *slot { return &h.slots[h.order[0]] }

// dueOf returns the due time of a pod UID. It returns false if the UID has no entry.
func (h *dueHeap) dueOf(uid types.UID) (time.Duration, bool) {
	s, ok := h.index[uid]
	if !ok {
		return 0, false
	}
	return h.slots[s].due, true
}

// set inserts an entry for a pod UID, or overwrites the due time of its entry. In both cases the entry counts
// as the newest among those with the same due time.
func (h *dueHeap) set(uid types.UID, due time.Duration) {
	s, ok := h.index[uid]
	if !ok {
		s = h.allocateSlot(uid)
		h.index[uid] = s
		h.slots[s].place = int32(len(h.order))
		h.order = append(h.order, s)
	}
	h.lastSequence++
	h.slots[s].due, h.slots[s].sequence = due, h.lastSequence
	h.restoreOrder(int(h.slots[s].place))
}

// allocateSlot returns the index of a slot for a pod UID. It reuses a free slot, or appends one if none is
// free.
func (h *dueHeap) allocateSlot(uid types.UID) int32 {
	if n := len(h.free); n > 0 {
		s := h.free[n-1]
		h.free = h.free[:n-1]
		h.slots[s].uid = uid
		return s
	}
	h.slots = append(h.slots, slot{uid: uid})
	return int32(len(h.slots) - 1)
}

// remove deletes the entry of a pod UID. It does nothing if the UID has none.
func (h *dueHeap) remove(uid types.UID) {
	if s, ok := h.index[uid]; ok {
		h.removeAt(int(h.slots[s].place))
	}
}

// removeAt deletes the entry at an index of order, and frees its slot.
func (h *dueHeap) removeAt(place int) {
	s := h.order[place]
	last := len(h.order) - 1
	h.swap(place, last)
	h.order = h.order[:last]
	if place < last {
		h.restoreOrder(place)
	}
	delete(h.index, h.slots[s].uid)
	h.slots[s] = slot{} // release the string
	h.free = append(h.free, s)
}

// restoreOrder moves the entry at place up or down after its due time has changed.
func (h *dueHeap) restoreOrder(place int) {
	if !h.siftDown(place) {
		h.siftUp(place)
	}
}

// siftUp moves an entry up until its parent is not due later. The root is its own parent, so the loop ends
// there.
func (h *dueHeap) siftUp(i int) {
	for parent := (i - 1) / 2; h.less(i, parent); parent = (i - 1) / 2 {
		h.swap(i, parent)
		i = parent
	}
}

// siftDown moves an entry down until no child is due earlier, and reports whether it moved.
func (h *dueHeap) siftDown(i int) (moved bool) {
	start := i
	for {
		child := 2*i + 1
		if child >= len(h.order) {
			break
		}
		if right := child + 1; right < len(h.order) && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			break
		}
		h.swap(i, child)
		i = child
	}
	return i > start
}

// less reports whether the entry at index i of order is due before the entry at index j. Entries with the same
// due time are ordered by when their time was set.
func (h *dueHeap) less(i, j int) bool {
	a, b := &h.slots[h.order[i]], &h.slots[h.order[j]]
	return a.due < b.due || a.due == b.due && a.sequence < b.sequence
}

// swap exchanges the entries at two indexes of order.
func (h *dueHeap) swap(i, j int) {
	h.order[i], h.order[j] = h.order[j], h.order[i]
	h.slots[h.order[i]].place, h.slots[h.order[j]].place = int32(i), int32(j)
}
