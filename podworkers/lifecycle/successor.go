package lifecycle

// successor is a pod that was created under a UID whose present incarnation must terminate first.
// Each UID has at most one successor: newer content replaces it.
type successor struct {
	generation uint64 // 0: none
	source     uint32 // as in record
	facts      Facts
	evicted    bool  // it was evicted while it waited
	statusFunc bool  // the eviction has a status func
	grace      Grace // of the eviction
}

// successor returns the pod that waits under r's UID, or nil. It waits until r is finished or, if
// only the runtime knew r, until r's containers are stopped.
func (r *record) successor() *successor {
	if r.cold == nil || r.cold.next.generation == 0 {
		return nil
	}
	return &r.cold.next
}

// belongsToSuccessor reports whether the update is about the next incarnation of r's UID. That is
// so in three cases: a create while the present incarnation terminates or after it has finished,
// every update while a next incarnation waits, and an update from a source if so far only the
// runtime knew the pod. An update that requests termination always belongs to the present
// incarnation. In addition, applyUpdate evicts the successor if the update is an eviction, and
// discards it otherwise. The kill of a RuntimePod leaves the successor unchanged.
func (r *record) belongsToSuccessor(u *Update) bool {
	if r.stage == StageSyncing || u.requestsTermination() {
		return false
	}
	return u.Type == SyncPodCreate || r.successor() != nil || r.isRuntimeOnly()
}

// setSuccessor stores u as the next incarnation of r's UID, or starts it at once if r is finished.
func (t *Table) setSuccessor(r *record, u *Update, out *Effects) {
	t.generation++
	var next successor
	if previous := r.successor(); previous != nil && u.Type != SyncPodCreate {
		next = *previous // New content does not undo the eviction; a new pod does.
	}
	next.generation, next.source, next.facts = t.generation, t.sourceIndex(u.Facts.Source), u.Facts
	t.ensureColdFields(r).next = next
	if r.stage == StageFinished {
		t.promoteSuccessor(r, out)
	}
}

// evictSuccessor marks the pod that waits under r's UID as evicted, if the update is an eviction,
// and reports whether it did so. The evicted pod is still desired: it becomes an incarnation that
// reports the eviction, but starts no container.
func (r *record) evictSuccessor(u *Update) (evicted bool) {
	next := r.successor()
	if next == nil || u.Type != SyncPodKill || !u.Kill.Evict || u.Facts.Deleted || u.Facts.TerminalPhase {
		return false
	}
	next.grace = next.grace.Min(u.killGrace())
	next.evicted, next.statusFunc = true, next.statusFunc || u.Kill.PodStatusFunc
	return true
}

// discardSuccessor drops the pod that waits under r's UID, if there is any.
func (t *Table) discardSuccessor(r *record, out *Effects) {
	if r.successor() == nil {
		return
	}
	r.cold.next = successor{}
	emit(out, OpDiscard, r)
}

// promoteSuccessor turns the record of a finished pod into the record of the pod that waits under
// the same UID. All fields are reset, so no state of the old incarnation is left.
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

// terminateEvictedSuccessor terminates a new incarnation that was evicted while it waited for the
// old one.
func (t *Table) terminateEvictedSuccessor(r *record, s *successor, out *Effects) {
	r.flags |= flagEvicted
	r.reason = SyncPodKill
	t.moveStage(r, terminationRequested, out)
	r.shortenGrace(s.grace)
	if s.statusFunc {
		r.cold.statusFuncGeneration = r.generation
	}
}
