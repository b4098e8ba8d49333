package lifecycle

// successor is a pod that was created under a UID whose present incarnation
// has to end first. There is one place: the newest content wins.
type successor struct {
	generation uint64 // 0: none
	origin     uint32 // as in record
	facts      Facts
}

func (r *record) successor() *successor {
	if r.rare == nil || r.rare.next.generation == 0 {
		return nil
	}
	return &r.rare.next
}

// follows is true if the update is about the incarnation after the present
// one: a create of a pod that must end, whatever is new about a successor that
// waits, and the first word from a source about a pod that only the runtime
// knew. What asks for an end is never about a successor: it ends them both.
func (r *record) follows(u *Update) bool {
	if r.stage == syncing || u.ends() {
		return false
	}
	return u.Type == SyncPodCreate || r.successor() != nil || r.runtimeOnly()
}

// succeed remembers u as r's successor, or starts it if r is finished.
func (t *Table) succeed(r *record, u *Update, out *Effects) {
	t.generation++
	t.rare(r).next = successor{generation: t.generation, origin: t.origin(u.Facts.Origin), facts: u.Facts}
	if r.stage == finished {
		t.promote(r, out)
	}
}

// discard drops r's successor, if there is one.
func (t *Table) discard(r *record, out *Effects) {
	if r.successor() == nil {
		return
	}
	r.rare.next = successor{}
	emit(out, OpDiscard, r)
}

// promote turns a record whose life is over into that of its successor. What
// must not leak from one life to the next does not, because all is made new.
func (t *Table) promote(r *record, out *Effects) {
	next := *r.successor()
	t.unqueue(r, out)
	x := r.rare
	x.reset()
	*r = record{uid: r.uid, slot: r.slot, version: r.version, rare: x, seen: r.seen, incarnation: r.incarnation + 1}
	emit(out, OpPromote, r)
	t.enter(r, &next.facts)
	t.learn(r, &next.facts)
	r.generation, r.reason, r.pending = next.generation, SyncPodCreate, true
	t.schedule(r, false, out)
}
