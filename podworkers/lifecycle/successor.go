package lifecycle

// successor is a pod that was created under a UID whose present incarnation must terminate first.
// Each UID has at most one successor: the newest content replaces it.
type successor struct {
	generation uint64 // 0: none
	source     uint32 // as in record
	facts      Facts
	evicted    bool  // it was evicted while it waits
	statusFunc bool  // the eviction has a status func
	grace      Grace // of the eviction
}

// successor returns the waiting successor, or nil.
func (r *record) successor() *successor {
	if r.cold == nil || r.cold.next.generation == 0 {
		return nil
	}
	return &r.cold.next
}

// belongsToSuccessor reports whether the update is about the next incarnation. That is so for a
// create while the present incarnation terminates, for every update while a successor waits, and
// for the first update from a source of a pod that only the runtime showed. An update that requests
// termination never belongs to the successor alone: it terminates both.
func (r *record) belongsToSuccessor(u *Update) bool {
	if r.stage == StageSyncing || u.requestsTermination() {
		return false
	}
	return u.Type == SyncPodCreate || r.successor() != nil || r.isRuntimeOnly()
}

// setSuccessor stores u as r's successor, or starts it at once if r is finished.
func (t *Table) setSuccessor(r *record, u *Update, out *Effects) {
	t.generation++
	var next successor
	if was := r.successor(); was != nil && u.Type != SyncPodCreate {
		next = *was // New content does not undo the eviction.
	}
	next.generation, next.source, next.facts = t.generation, t.sourceIndex(u.Facts.Source), u.Facts
	t.ensureColdFields(r).next = next
	if r.stage == StageFinished {
		t.promoteSuccessor(r, out)
	}
}

// evictSuccessor marks the waiting successor as evicted, and reports whether the update does evict
// one. An evicted successor is still desired: it becomes an incarnation that reports the eviction,
// but starts no container.
func (r *record) evictSuccessor(u *Update) (evicted bool) {
	next := r.successor()
	if next == nil || u.Type != SyncPodKill || !u.Kill.Evict || u.Facts.Deleted || u.Facts.TerminalPhase {
		return false
	}
	grace := u.killGrace()
	if !next.grace.Set || grace.Set && grace.clampedSeconds() < next.grace.clampedSeconds() {
		next.grace = grace
	}
	next.evicted, next.statusFunc = true, next.statusFunc || u.Kill.PodStatusFunc
	return true
}

// discardSuccessor drops r's successor, if it has one.
func (t *Table) discardSuccessor(r *record, out *Effects) {
	if r.successor() == nil {
		return
	}
	r.cold.next = successor{}
	emit(out, OpDiscard, r)
}

// promoteSuccessor makes the successor the next incarnation of a finished record. All fields are
// reset, so no state of the old incarnation is left.
func (t *Table) promoteSuccessor(r *record, out *Effects) {
	next := *r.successor()
	t.removeRetry(r, out)
	x := r.cold
	x.reset()
	*r = record{uid: r.uid, slot: r.slot, version: r.version, cold: x, desiredEpoch: r.desiredEpoch, incarnation: r.incarnation + 1}
	emit(out, OpPromote, r)
	t.applyFixedFacts(r, &next.facts)
	t.applyMutableFacts(r, &next.facts)
	r.generation, r.reason, r.pending = next.generation, SyncPodCreate, true
	if next.evicted {
		t.terminateEvictedSuccessor(r, &next, out)
	}
	t.scheduleWork(r, false, out)
}

// terminateEvictedSuccessor terminates a promoted successor that was evicted while it waited.
func (t *Table) terminateEvictedSuccessor(r *record, s *successor, out *Effects) {
	r.flags |= flagEvicted
	r.reason = SyncPodKill
	t.moveStage(r, terminationRequested, out)
	r.applyGrace(Grace{}, s.grace)
	if s.statusFunc {
		r.cold.statusFuncGeneration = r.generation
	}
}
