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

// acceptUpdate implements Update and Kill. It stores the update, then issues the ticket, then
// schedules the work.
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
		t.setSuccessor(r, u, out)
		return Accepted{Disposition: Queued, Ref: r.ref(), Generation: t.generation}, nil
	}
	var effect updateEffect
	switch {
	case r == nil:
		r, effect = t.createRecord(u, out)
	case u.Subject == RuntimePod && !r.isRuntimeOnly():
		effect = t.applyRuntimeKill(r, u, out)
	default:
		effect = t.applyUpdate(r, u, out)
	}
	a := Accepted{Disposition: effect.disposition, Ref: r.ref()}
	if effect.disposition == Current {
		a.Generation = t.generation
	}
	if withTicket {
		a.Ticket = t.issueTicket(r, effect, out)
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

// checkUpdate returns an error if an update is invalid or the table is shut down.
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

// requestsTermination reports whether the update is a kill, a deletion or has a terminal phase.
func (u *Update) requestsTermination() bool {
	return u.Type == SyncPodKill || u.Facts.Deleted || u.Facts.TerminalPhase
}

// createRecord creates the record of an unknown pod and applies its first update. A pod in a
// terminal phase starts as Terminated if the runtime runs no container of it: a sync could not
// change anything.
func (t *Table) createRecord(u *Update, out *Effects) (*record, updateEffect) {
	r := t.newRecord(u.UID)
	if u.Subject == RuntimePod {
		r.flags |= flagFoundInRuntime | flagDeleted
		return r, t.applyUpdate(r, u, out)
	}
	t.applyFixedFacts(r, &u.Facts)
	if u.Runtime == RuntimeRunning {
		r.flags |= flagFoundInRuntime
	}
	if u.Facts.TerminalPhase && u.Runtime == RuntimeStopped {
		t.moveStage(r, terminalAtFirstSight, out)
	}
	return r, t.applyUpdate(r, u, out)
}

// applyFixedFacts stores the facts that never change for an incarnation. A static pod also joins
// the queue for its full name.
func (t *Table) applyFixedFacts(r *record, f *Facts) {
	r.flags |= flagHasConfig
	if f.Static {
		r.flags |= flagStatic
		r.fullName = f.FullName
		t.joinNameQueue(r)
	}
}

// applyUpdate makes u the current content of r's incarnation. It stores no content for a finished
// pod. If the update shortens the grace period of a termination, the running call must be
// cancelled.
func (t *Table) applyUpdate(r *record, u *Update, out *Effects) updateEffect {
	if u.requestsTermination() && u.Subject == ConfigPod && !r.evictSuccessor(u) {
		t.discardSuccessor(r, out)
	}
	r.setStickyFlags(u)
	if r.stage == StageFinished {
		return updateEffect{}
	}
	wasSyncing := r.stage == StageSyncing
	if u.requestsTermination() {
		t.moveStage(r, terminationRequested, out)
	}
	t.storeUpdate(r, u, wasSyncing && u.requestsTermination())
	effect := updateEffect{disposition: Current}
	if r.stage.isTerminating() {
		effect.cancelRunning = r.shortenGrace(u.Facts.DeletionGrace.Min(u.killGrace())) || wasSyncing
		if u.Kill.PodStatusFunc {
			t.ensureColdFields(r).statusFuncGeneration = r.generation
		}
	}
	return effect
}

// setStickyFlags sets the flags for deletion and eviction. The stage does not matter, so the order
// of updates makes no difference.
func (r *record) setStickyFlags(u *Update) {
	if u.Facts.Deleted {
		r.flags |= flagDeleted
	}
	if u.Type == SyncPodKill && u.Kill.Evict {
		r.flags |= flagEvicted
	}
}

// storeUpdate makes u the newest content. startsTermination means that u terminates a pod that was
// desired until now.
func (t *Table) storeUpdate(r *record, u *Update, startsTermination bool) {
	t.generation++
	r.generation = t.generation
	if u.Observation && u.Type == SyncPodSync && !startsTermination && r.mayHaveCausedChange() {
		r.runtimeChanged = true
	} else {
		r.reason, r.pending = u.Type, true
	}
	if u.Subject == ConfigPod {
		r.flags |= flagHasConfig
		t.applyMutableFacts(r, &u.Facts)
	}
}

// applyMutableFacts stores the grace period and the source, which each content may change.
func (t *Table) applyMutableFacts(r *record, f *Facts) {
	r.contentSeconds = f.ownGrace().Or(Seconds(minGrace)).Seconds
	r.source = t.sourceIndex(f.Source)
}

// applyRuntimeKill applies the kill of a RuntimePod to a pod that a source has delivered. If the
// pod was updated after the runtime was observed, it may have become desired in between, and the
// kill does nothing. Otherwise it starts the termination. The disposition is Ignored in both cases,
// because a RuntimePod has no content. The kill's grace period is used as it is, even if it is
// longer than the content's own.
func (t *Table) applyRuntimeKill(r *record, u *Update, out *Effects) updateEffect {
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
	r.shortenGrace(u.killGrace())
	return updateEffect{cancelRunning: true}
}

// issueTicket returns a new ticket for a kill. It resolves the ticket at once if no container can
// run or if the kill was refused.
func (t *Table) issueTicket(r *record, effect updateEffect, out *Effects) Ticket {
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

// scheduleWork emits the effects that follow an update: it finishes the pod, cancels its running
// call, wakes its worker, or asks for a comparison with the runtime.
func (t *Table) scheduleWork(r *record, cancelRunning bool, out *Effects) {
	switch {
	case r.canFinishWithoutCalls():
		t.finishPod(r, finishedWithoutStart, out)
	case r.activity.isRunning():
		if cancelRunning {
			emit(out, OpCancel, r)
		}
	case r.pending && t.canCallSyncer(r):
		t.wakeWorker(r, out)
	default:
		t.emitCompare(r, out)
	}
}
