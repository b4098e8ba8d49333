package lifecycle

// successor is a pod that was created under a UID whose present incarnation
// has to end first. There is one place: the newest content wins.
type successor struct {
	generation uint64 // 0: none
	source     uint32 // as in record
	facts      Facts
	evicted    bool  // it is to end before it begins
	statusFunc bool  // and the eviction has a function for its status
	grace      Grace // and says how long that may take
}

func (r *record) successor() *successor {
	if r.coldFields == nil || r.coldFields.next.generation == 0 {
		return nil
	}
	return &r.coldFields.next
}

// follows is true if the update is about the incarnation after the present
// one: a create of a pod that must end, whatever is new about a successor that
// waits, and the first word from a source about a pod that only the runtime
// knew. What asks for an end is never about a successor alone: it ends them both.
func (r *record) follows(u *Update) bool {
	if r.stage == StageSyncing || u.ends() {
		return false
	}
	return u.Type == SyncPodCreate || r.successor() != nil || r.runtimeOnly()
}

// succeed remembers u as r's successor, or starts it if r is finished.
func (t *Table) succeed(r *record, u *Update, out *Effects) {
	t.generation++
	var next successor
	if was := r.successor(); was != nil && u.Type != SyncPodCreate {
		next = *was // What is new about it does not undo its eviction.
	}
	next.generation, next.source, next.facts = t.generation, t.source(u.Facts.Source), u.Facts
	t.coldFields(r).next = next
	if r.stage == StageFinished {
		t.promote(r, out)
	}
}

// evictSuccessor marks r's successor as evicted: it is still desired, so it has
// its turn, to say so, but starts nothing. It reports whether there is one of
// which that is what the update says.
func (r *record) evictSuccessor(u *Update) bool {
	next := r.successor()
	if next == nil || u.Type != SyncPodKill || !u.Kill.Evict || u.Facts.Deleted || u.Facts.TerminalPhase {
		return false
	}
	grace := u.override()
	if !next.grace.Set || grace.Set && grace.effective() < next.grace.effective() {
		next.grace = grace
	}
	next.evicted, next.statusFunc = true, next.statusFunc || u.Kill.PodStatusFunc
	return true
}

// discard drops r's successor, if there is one.
func (t *Table) discard(r *record, out *Effects) {
	if r.successor() == nil {
		return
	}
	r.coldFields.next = successor{}
	emit(out, OpDiscard, r)
}

// promote turns a record whose incarnation is over into that of its successor. What
// must not leak from one incarnation to the next does not, because all is made new.
func (t *Table) promote(r *record, out *Effects) {
	next := *r.successor()
	t.unqueue(r, out)
	x := r.coldFields
	x.reset()
	*r = record{uid: r.uid, slot: r.slot, version: r.version, coldFields: x, seen: r.seen, incarnation: r.incarnation + 1}
	emit(out, OpPromote, r)
	t.enter(r, &next.facts)
	t.learn(r, &next.facts)
	r.generation, r.reason, r.pending = next.generation, SyncPodCreate, true
	if next.evicted {
		t.evict(r, &next, out)
	}
	t.schedule(r, false, out)
}

// evict ends a life with which it was promoted.
func (t *Table) evict(r *record, s *successor, out *Effects) {
	r.latches |= evicted
	r.reason = SyncPodKill
	t.move(r, asked, out)
	r.shorten(Grace{}, s.grace)
	if s.statusFunc {
		r.coldFields.statusFunc = r.generation
	}
}
