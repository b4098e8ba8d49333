package lifecycle

// nameQueue is the queue for one full name, first come first served. Its head may
// start, or has started; the others wait. A record is in the name queue from first sight
// until its containers are stopped, so the name queue is the lock: there is no
// owner to be remembered besides, nobody asks twice, and leaving it hands over.
type nameQueue struct{ head, tail uint32 }

// join puts a static pod at the end of the queue of its full name.
func (t *Table) join(r *record) {
	l, ok := t.nameQueues[r.fullName]
	if !ok {
		t.nameQueues[r.fullName] = nameQueue{r.slot, r.slot}
		return
	}
	t.slots.at(l.tail).next = r.slot
	r.prev, l.tail = l.tail, r.slot
	t.nameQueues[r.fullName] = l
}

// leave takes r out of its name queue, if it stands in one, and wakes the one that
// thereby comes to its head.
func (t *Table) leave(r *record, out *Effects) {
	l, ok := t.nameQueues[r.fullName]
	if !ok || r.fullName == "" || (r.prev == 0 && l.head != r.slot) {
		return
	}
	wasHead := l.head == r.slot
	if wasHead {
		l.head = r.next
	} else {
		t.slots.at(r.prev).next = r.next
	}
	if l.tail == r.slot {
		l.tail = r.prev
	} else {
		t.slots.at(r.next).prev = r.prev
	}
	r.next, r.prev = 0, 0
	if l.head == 0 {
		delete(t.nameQueues, r.fullName)
		return
	}
	t.nameQueues[r.fullName] = l
	if head := t.slots.at(l.head); wasHead && head.pending {
		t.wake(head, out)
	}
}

// mayRun is false for a static pod that has to wait for its full name. Only a
// start waits: what has to end is worked on at once.
func (t *Table) mayRun(r *record) bool {
	return r.stage != StageSyncing || !r.latches.has(static) || t.nameQueues[r.fullName].head == r.slot
}
