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

// successor returns the pod that waits under the same UID until the present pod of r has terminated, or nil if
// none waits.
func (r *record) successor() *successor {
	if r.cold == nil || r.cold.next.generation == 0 {
		return nil
	}
	return &r.cold.next
}

// belongsToSuccessor reports whether an update is about the pod that waits under r's UID until the present pod
// has terminated, or makes a pod wait there. It returns false while the present pod is desired, and for every
// update that requests termination. Any other update belongs to the waiting pod in three cases: the update is a
// create, a pod already waits, or so far only the runtime knew the present pod.
func (r *record) belongsToSuccessor(u *Update) bool {
	if r.stage == StageSyncing || u.requestsTermination() {
		return false
	}
	return u.Type == SyncPodCreate || r.successor() != nil || r.isRuntimeOnly()
}

// storeOrStartSuccessor stores the update as the pod that waits under r's UID. If r is finished, that pod takes
// over the record at once. If a waiting pod was evicted, the eviction stays unless the update is a create.
func (t *Table) storeOrStartSuccessor(r *record, u *Update, out *Effects) {
	t.generation++
	var next successor
	if previous := r.successor(); previous != nil && u.Type != SyncPodCreate {
		next = *previous // New content does not undo the eviction; a new pod does.
	}
	next.generation, next.source, next.facts = t.generation, t.getOrAddSource(u.Facts.Source), u.Facts
	t.ensureColdFields(r).next = next
	if r.stage == StageFinished {
		t.promoteSuccessor(r, out)
	}
}

// evictSuccessorIfRequested marks the pod that waits under r's UID as evicted and returns true. It does so only
// if the update is an eviction and the update's pod is neither deleted nor terminal. Of two grace periods of
// kills it keeps the shorter one. The evicted pod stays desired. When it takes over the record, it terminates
// at once, so that it starts no container.
func (r *record) evictSuccessorIfRequested(u *Update) (evicted bool) {
	next := r.successor()
	if next == nil || u.Type != SyncPodKill || !u.Kill.Evict || u.Facts.Deleted || u.Facts.TerminalPhase {
		return false
	}
	next.grace = next.grace.Min(u.killGraceWithinPodGrace())
	next.evicted, next.statusFunc = true, next.statusFunc || u.Kill.PodStatusFunc
	return true
}

// discardSuccessor deletes the pod that waits under r's UID and emits OpDiscard, if one waits.
func (t *Table) discardSuccessor(r *record, out *Effects) {
	if r.successor() == nil {
		return
	}
	r.cold.next = successor{}
	appendEffect(out, OpDiscard, r)
}

// promoteSuccessor turns the record of a pod that has terminated into the record of the pod that waits under
// the same UID, emits OpPromote and schedules the new pod's first sync, or its termination if it was evicted.
// It resets all state of the old pod.
func (t *Table) promoteSuccessor(r *record, out *Effects) {
	next := *r.successor()
	t.removeRetry(r, out)
	x := r.cold
	x.reset()
	*r = record{uid: r.uid, slot: r.slot, version: r.version, cold: x, desiredEpoch: r.desiredEpoch, incarnation: r.incarnation + 1}
	appendEffect(out, OpPromote, r)
	t.storeFixedFactsAndQueueStatic(r, &next.facts)
	t.storeGraceAndSource(r, &next.facts)
	r.generation, r.reason, r.pending = next.generation, SyncPodCreate, true
	if next.evicted {
		t.terminateEvictedSuccessor(r, &next, out)
	}
	t.scheduleWork(r, false, out)
}

// terminateEvictedSuccessor requests the termination of a pod that was evicted while it waited under its UID,
// with the grace period and status func of that eviction. r is already the new pod's record.
func (t *Table) terminateEvictedSuccessor(r *record, s *successor, out *Effects) {
	r.flags |= flagEvicted
	r.reason = SyncPodKill
	t.moveStage(r, terminationRequested, out)
	r.shortenGrace(s.grace)
	if s.statusFunc {
		r.cold.statusFuncGeneration = r.generation
	}
}
