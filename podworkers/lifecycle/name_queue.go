package lifecycle

// nameQueue is the queue of static pods with one full name, in order of arrival. The head may start
// or has started. The others wait. A record is in the queue from its first update until its
// containers are stopped. When the head leaves, the next pod is woken, so no pod has to poll.
type nameQueue struct{ head, tail uint32 }

// joinNameQueue appends a static pod to the queue of static pods with its full name. The first pod of the queue
// may run.
func (t *Table) joinNameQueue(r *record) {
	l, ok := t.nameQueues[r.fullName]
	if !ok {
		t.nameQueues[r.fullName] = nameQueue{r.slot, r.slot}
		return
	}
	t.slots.at(l.tail).next = r.slot
	r.prev, l.tail = l.tail, r.slot
	t.nameQueues[r.fullName] = l
}

// leaveNameQueueAndWakeNext removes r from the queue of static pods with its full name. The next pod in the
// queue may run if r was the first. It wakes that pod's worker if an update is pending. If r is in no queue,
// nothing happens.
func (t *Table) leaveNameQueueAndWakeNext(r *record, out *Effects) {
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
		t.wakeIdleWorker(head, out)
	}
}

// holdsFullNameIfNeeded returns false only for a desired static pod that must wait for another static pod with
// the same full name. A pod that is not static, or that must terminate or has terminated, needs no full name.
func (t *Table) holdsFullNameIfNeeded(r *record) bool {
	return r.stage != StageSyncing || !r.flags.hasAny(flagStatic) || t.nameQueues[r.fullName].head == r.slot
}
