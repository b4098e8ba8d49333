package workqueue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// heap is a binary heap of slots that knows where each UID is.
//
// The order holds slot numbers, and a slot holds its place in the order, so
// that sifting moves small numbers and never touches the map: the map is read
// or written once per call, not once per level.
type heap struct {
	index map[types.UID]int32 // to slots
	slots []slot
	free  []int32 // slots without an entry
	order []int32 // slots, as a heap by (due, seq)
	seq   uint64
}

// slot is one entry. Slots do not move while their entry lives.
type slot struct {
	uid   types.UID
	due   time.Duration // since the queue's epoch
	seq   uint64        // which of the puts it was: equal times come in this order
	place int32         // in order
}

func (h *heap) len() int { return len(h.order) }

// first is the entry that is due first; the heap must not be empty.
func (h *heap) first() *slot { return &h.slots[h.order[0]] }

// due is the due time of the UID's entry, if it has one.
func (h *heap) due(uid types.UID) (time.Duration, bool) {
	s, ok := h.index[uid]
	if !ok {
		return 0, false
	}
	return h.slots[s].due, true
}

// put inserts the entry or overwrites its due time.
func (h *heap) put(uid types.UID, due time.Duration) {
	s, ok := h.index[uid]
	if !ok {
		s = h.newSlot(uid)
		h.index[uid] = s
		h.slots[s].place = int32(len(h.order))
		h.order = append(h.order, s)
	}
	h.seq++
	h.slots[s].due, h.slots[s].seq = due, h.seq
	h.fix(int(h.slots[s].place))
}

// newSlot takes a free slot, or makes one.
func (h *heap) newSlot(uid types.UID) int32 {
	if n := len(h.free); n > 0 {
		s := h.free[n-1]
		h.free = h.free[:n-1]
		h.slots[s].uid = uid
		return s
	}
	h.slots = append(h.slots, slot{uid: uid})
	return int32(len(h.slots) - 1)
}

// remove takes the UID out, if it is there.
func (h *heap) remove(uid types.UID) {
	if s, ok := h.index[uid]; ok {
		h.removeAt(int(h.slots[s].place))
	}
}

// removeAt takes out the entry at a place of the order.
func (h *heap) removeAt(place int) {
	s := h.order[place]
	last := len(h.order) - 1
	h.swap(place, last)
	h.order = h.order[:last]
	if place < last {
		h.fix(place)
	}
	delete(h.index, h.slots[s].uid)
	h.slots[s] = slot{} // let go of the UID
	h.free = append(h.free, s)
}

// fix restores the order after the entry at place has changed.
func (h *heap) fix(place int) {
	if !h.down(place) {
		h.up(place)
	}
}

// up ends at the root at the latest, which is its own parent and not less than itself.
func (h *heap) up(i int) {
	for parent := (i - 1) / 2; h.less(i, parent); parent = (i - 1) / 2 {
		h.swap(i, parent)
		i = parent
	}
}

// down reports whether the entry moved.
func (h *heap) down(i int) bool {
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

func (h *heap) less(i, j int) bool {
	a, b := &h.slots[h.order[i]], &h.slots[h.order[j]]
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

func (h *heap) swap(i, j int) {
	h.order[i], h.order[j] = h.order[j], h.order[i]
	h.slots[h.order[i]].place, h.slots[h.order[j]].place = int32(i), int32(j)
}
