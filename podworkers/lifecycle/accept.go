package lifecycle

import "fmt"

// Update accepts the desired state of a pod. The caller calls it for every change of the desired
// state and for every other reason to sync the pod. The newest content wins. A kill, a deletion and
// an eviction of an incarnation are sticky: no later update undoes them, and the order of arrival
// makes no difference. The exception is an incarnation that still waits for an earlier one: a
// SyncPodCreate replaces it, and its eviction is gone. An error is ErrInvalid or ErrShutdown.
func (t *Table) Update(u Update, out *Effects) (Accepted, error) {
	return t.acceptUpdate(&u, false, out)
}

// Kill is Update with type SyncPodKill. It also returns a ticket, which is resolved exactly once,
// perhaps by the effects of this call. With an error there is no ticket.
func (t *Table) Kill(u Update, out *Effects) (Accepted, error) {
	u.Type = SyncPodKill
	return t.acceptUpdate(&u, true, out)
}

// acceptUpdate implements Update and Kill: it applies an update to the record of its pod, or stores it for the
// pod that waits under the same UID. It appends to out what the caller must do. With withTicket it also issues
// a ticket, the number under which a kill is resolved. An update of a RuntimePod that is not a kill changes
// nothing.
func (t *Table) acceptUpdate(u *Update, withTicket bool, out *Effects) (Accepted, error) {
	if err := t.checkUpdate(u); err != nil {
		return Accepted{}, err
	}
	if u.Subject == RuntimePod {
		if u.Type != SyncPodKill {
			return Accepted{}, nil
		}
		u.Facts = Facts{} // The runtime has no facts about the desired state.
	}
	r := t.findRecord(u.UID)
	if r != nil && r.belongsToSuccessor(u) {
		t.storeOrStartSuccessor(r, u, out)
		return Accepted{Disposition: Queued, Ref: r.ref(), Generation: t.generation}, nil
	}
	var effect updateEffect
	switch {
	case r == nil:
		r, effect = t.addPodAndApplyUpdate(u, out)
	case u.Subject == RuntimePod && !r.isRuntimeOnly():
		effect = t.applyRuntimeKillUnlessUpdated(r, u, out)
	default:
		effect = t.applyUpdate(r, u, out)
	}
	a := Accepted{Disposition: effect.disposition, Ref: r.ref()}
	if effect.disposition == Current {
		a.Generation = t.generation
	}
	if withTicket {
		a.Ticket = t.issueKillTicket(r, effect, out)
	}
	t.scheduleWork(r, effect.cancelRunning, out)
	return a, nil
}

// updateEffect is the result of an update for its record.
type updateEffect struct {
	disposition   Disposition
	cancelRunning bool // the running call must be cancelled
	podDesired    bool // the kill of a RuntimePod was refused, because the pod is desired
}

// checkUpdate returns ErrShutdown if the table is shut down, and an ErrInvalid if the update has no UID, an
// unknown type or subject, or a static pod without a full name.
func (t *Table) checkUpdate(u *Update) error {
	switch {
	case t.shutDown:
		return ErrShutdown
	case u.UID == "":
		return fmt.Errorf("%w: no UID", ErrInvalid)
	case u.Type > SyncPodKill:
		return fmt.Errorf("%w: type %d of pod %q", ErrInvalid, u.Type, u.UID)
	case u.Subject != ConfigPod && u.Subject != RuntimePod:
		return fmt.Errorf("%w: neither a pod nor a running pod %q", ErrInvalid, u.UID)
	case u.Subject == ConfigPod && u.Facts.Static && u.Facts.FullName == "":
		return fmt.Errorf("%w: static pod %q without a full name", ErrInvalid, u.UID)
	}
	return nil
}

// requestsTermination reports whether the update is a kill, or its pod is deleted or in a terminal phase.
func (u *Update) requestsTermination() bool {
	return u.Type == SyncPodKill || u.Facts.Deleted || u.Facts.TerminalPhase
}

// addPodAndApplyUpdate creates the record of an unknown pod and applies its first update. A RuntimePod starts
// as deleted. A pod in a terminal phase starts as Terminated if the runtime runs no container of it, because no
// sync could change anything.
func (t *Table) addPodAndApplyUpdate(u *Update, out *Effects) (*record, updateEffect) {
	r := t.addRecord(u.UID)
	if u.Subject == RuntimePod {
		r.flags |= flagFoundInRuntime | flagDeleted
		return r, t.applyUpdate(r, u, out)
	}
	t.storeFixedFactsAndQueueStatic(r, &u.Facts)
	if u.Runtime == RuntimeRunning {
		r.flags |= flagFoundInRuntime
	}
	if u.Facts.TerminalPhase && u.Runtime == RuntimeStopped {
		t.moveStage(r, terminalAtFirstSight, out)
	}
	return r, t.applyUpdate(r, u, out)
}

// storeFixedFactsAndQueueStatic marks r as delivered by a source. For a static pod it also stores the full name
// and appends r to the queue of static pods with that name.
func (t *Table) storeFixedFactsAndQueueStatic(r *record, f *Facts) {
	r.flags |= flagHasConfig
	if f.Static {
		r.flags |= flagStatic
		r.fullName = f.FullName
		t.joinNameQueue(r)
	}
}

// applyUpdate applies an update to the present pod of a UID. It sets the flags for deletion and eviction. If the
// pod is finished, it then returns. Otherwise it stores the update, and starts the termination if the update
// requests one.
//
// An update of a configured pod that requests a termination also ends the wait of a successor, the next pod with
// this UID. evictSuccessorIfRequested marks the successor as evicted if the update is an eviction. Otherwise the
// successor is discarded.
//
// The result has cancelRunning if the caller must cancel the running call. That is so if the termination has
// started here, or if its grace period has become shorter.
func (t *Table) applyUpdate(r *record, u *Update, out *Effects) updateEffect {
	if u.requestsTermination() && u.Subject == ConfigPod && !r.evictSuccessorIfRequested(u) {
		t.discardSuccessor(r, out)
	}
	r.setDeletedAndEvictedFlags(u)
	if r.stage == StageFinished {
		return updateEffect{}
	}
	wasSyncing := r.stage == StageSyncing
	if u.requestsTermination() {
		t.moveStage(r, terminationRequested, out)
	}
	t.storeUpdateOrRuntimeChange(r, u, wasSyncing && u.requestsTermination())
	effect := updateEffect{disposition: Current}
	if r.stage.isTerminating() {
		effect.cancelRunning = r.shortenGrace(u.Facts.DeletionGrace.Min(u.killGraceWithinPodGrace())) || wasSyncing
		if u.Kill.PodStatusFunc {
			t.ensureColdFields(r).statusFuncGeneration = r.generation
		}
	}
	return effect
}

// setDeletedAndEvictedFlags sets the flag for deletion if the pod in the update is deleted. It sets the flag for eviction
// if the update is an eviction. It clears no flag and works in every stage, so the order of updates makes no
// difference.
func (r *record) setDeletedAndEvictedFlags(u *Update) {
	if u.Facts.Deleted {
		r.flags |= flagDeleted
	}
	if u.Type == SyncPodKill && u.Kill.Evict {
		r.flags |= flagEvicted
	}
}

// storeUpdateOrRuntimeChange gives r the next generation number, and stores the grace period and source of a
// ConfigPod. It then marks the update as pending work. If the update is only an observation of a change that
// the pod's own call may have made, it sets runtimeChanged instead. startsTermination means that u terminates a
// pod that was desired until now.
func (t *Table) storeUpdateOrRuntimeChange(r *record, u *Update, startsTermination bool) {
	t.generation++
	r.generation = t.generation
	if u.Observation && u.Type == SyncPodSync && !startsTermination && r.mayHaveCausedChange() {
		r.runtimeChanged = true
	} else {
		r.reason, r.pending = u.Type, true
	}
	if u.Subject == ConfigPod {
		r.flags |= flagHasConfig
		t.storeGraceAndSource(r, &u.Facts)
	}
}

// storeGraceAndSource stores the source and the pod object's own grace period: the deletion grace period or, if
// it is unset, the grace period of the spec. Both can change with each update.
func (t *Table) storeGraceAndSource(r *record, f *Facts) {
	r.contentSeconds = f.ownGrace().Or(Seconds(minGrace)).Seconds
	r.source = t.getOrAddSource(f.Source)
}

// applyRuntimeKillUnlessUpdated applies the kill of a RuntimePod to a pod that a source has delivered. It
// starts the termination of a desired pod with the kill's grace period, or with the pod's own if that is shorter.
// It does nothing if the pod was updated after the runtime was observed, because the pod may have become
// desired in between. The disposition is always Ignored, because a RuntimePod has no pod object to store.
func (t *Table) applyRuntimeKillUnlessUpdated(r *record, u *Update, out *Effects) updateEffect {
	if r.stage >= StageTerminated {
		return updateEffect{}
	}
	if u.AsOf < r.generation {
		return updateEffect{podDesired: r.stage == StageSyncing}
	}
	r.flags |= flagFoundInRuntime | flagDeleted
	if r.stage != StageSyncing {
		return updateEffect{}
	}
	t.moveStage(r, terminationRequested, out)
	r.reason, r.pending = SyncPodKill, true
	r.shortenGrace(u.killGraceWithinPodGrace().Min(r.contentGrace()))
	return updateEffect{cancelRunning: true}
}

// issueKillTicket returns a new ticket (the number of a kill). It resolves the ticket at once if the pod's
// containers are already stopped, or if the kill was refused because the pod is desired. It stores any other
// ticket until the termination ends.
func (t *Table) issueKillTicket(r *record, effect updateEffect, out *Effects) Ticket {
	t.lastTicket++
	switch {
	case effect.podDesired:
		emitResolve(out, r, t.lastTicket, PodDesired)
	case r.stage >= StageTerminated:
		emitResolve(out, r, t.lastTicket, AlreadyStopped)
	default:
		t.addTicket(r, t.lastTicket)
	}
	return t.lastTicket
}

// scheduleWork emits the effect that must follow an update. It finishes a static pod that never started. It
// cancels a running call if cancelRunning is true. It wakes the worker of an idle pod if an update is pending
// and no other pod holds the pod's full name. For any other idle pod it asks for a comparison with the runtime
// if one is due.
func (t *Table) scheduleWork(r *record, cancelRunning bool, out *Effects) {
	switch {
	case r.canFinishUnstartedStatic():
		t.finishPod(r, finishedWithoutStart, out)
	case r.activity.isRunning():
		if cancelRunning {
			appendEffect(out, OpCancel, r)
		}
	case r.pending && t.holdsFullNameIfNeeded(r):
		t.wakeIdleWorker(r, out)
	default:
		t.emitCompareIfRuntimeChanged(r, out)
	}
}
