package lifecycle

import "fmt"

// CheckInvariants returns an error that describes the first violated invariant. It reads the whole
// table, so it is for tests and diagnosis.
func (t *Table) CheckInvariants() error {
	n := 0
	awaitsName := map[uint32]bool{}
	for name, l := range t.nameQueues {
		if err := t.checkNameQueue(name, l, awaitsName); err != nil {
			return err
		}
	}
	for slot := uint32(1); slot <= t.slots.highestUsed; slot++ {
		r := t.slots.at(slot)
		if !r.isUsed() {
			continue
		}
		n++
		if t.byUID[r.uid] != slot {
			return fmt.Errorf("lifecycle: %s#%d is not indexed", r.uid, r.incarnation)
		}
		if fault := t.violatedInvariant(r, awaitsName[slot]); fault != "" {
			return fmt.Errorf("lifecycle: %s#%d: %s (%s)", r.uid, r.incarnation, fault, r.stage)
		}
	}
	if n != len(t.byUID) {
		return fmt.Errorf("lifecycle: %d records, %d indexed", n, len(t.byUID))
	}
	return nil
}

// violatedInvariant describes the first invariant that record r violates, or returns the empty string.
// inNameQueue must be true if r is in the queue of static pods with its full name.
func (t *Table) violatedInvariant(r *record, inNameQueue bool) string {
	has := r.flags.hasAny
	tickets := 0
	if r.cold != nil {
		tickets = len(r.cold.tickets)
	}
	switch {
	case r.slot == 0 || r.incarnation == 0 || r.generation > t.generation:
		return "its numbers are out of range"
	case r.stage == StageFinished && (r.activity != idle || r.pending || r.inWorkQueue):
		return "I3: it is finished and has work"
	case r.waitsForRuntime && (r.activity.isRunning() || r.activity == idle && !r.inWorkQueue || r.stage == StageFinished):
		return "it waits for the runtime but has no retry"
	case r.failed && (r.activity.isRunning() || r.activity == idle && !r.inWorkQueue || r.stage == StageFinished):
		return "it waits after a failure but has no retry"
	case r.runtimeChanged && !r.activity.isRunning():
		return "a change in the runtime was not compared"
	case r.activity.isRunning() && !r.stage.mayStillRunCall(r.activity.calledSyncerMethod()):
		return "I2, I4: " + r.activity.calledSyncerMethod().String() + " must not run"
	case r.activity.isRunning() && !has(flagStarted):
		return "a call runs but the pod never started"
	case r.activity == ready && !t.holdsFullNameIfNeeded(r):
		return "I11: it was woken before it holds its full name"
	case r.activity == idle && r.stage != StageFinished && t.holdsFullNameIfNeeded(r) && !r.inWorkQueue:
		return "I17: it will not be synced again"
	case r.activity == idle && r.pending && t.holdsFullNameIfNeeded(r):
		return "I8: its pending update will not be synced"
	case r.stage == StageSyncing && has(flagDeleted|flagEvicted):
		return "I9: it is syncing although it was deleted or evicted"
	case r.stage.isTerminating() && !r.grace.Set:
		return "I6: it terminates without a grace period"
	case tickets > 0 && !r.stage.isTerminating():
		return "I44: the ticket of a kill is not resolved"
	case r.isRuntimeOnly() && !(r.stage.isTerminating() && has(flagFoundInRuntime) && has(flagDeleted)):
		return "I14: only the runtime knows it, but it is not terminating"
	case r.successor() != nil && (r.stage == StageSyncing || r.stage == StageFinished):
		return "I13: its successor waits although it does not terminate"
	case r.canFinishUnstartedStatic() && r.stage != StageFinished:
		return "B-065: it never started and is not finished"
	case inNameQueue && (!has(flagStatic) || r.stage >= StageTerminated), r.fullName != "" && r.stage < StageTerminated && !inNameQueue:
		return "I11: its place in the name queue is wrong"
	}
	return ""
}

// mayStillRunCall reports whether a call of kind k that started earlier may still run in stage s. Each kind has
// one stage, but a cancelled SyncPod may also run on in StageRequested.
func (s Stage) mayStillRunCall(k Kind) bool {
	switch k {
	case SyncPod:
		return s == StageSyncing || s == StageRequested
	case SyncTerminatedPod:
		return s == StageTerminated
	default:
		return s == StageTerminating
	}
}

// checkNameQueue returns an error if the queue of static pods with one full name is inconsistent. That is the
// case if the linked list is broken, if its tail is wrong, or if a syncing pod has started although it is not
// the first. It adds the slots (record numbers) of the queue to seen.
func (t *Table) checkNameQueue(name string, queue nameQueue, seen map[uint32]bool) error {
	before := uint32(0)
	for slot := queue.head; slot != 0; slot = t.slots.at(slot).next {
		r := t.slots.at(slot)
		if seen[slot] || r.prev != before || r.fullName != name || !r.isUsed() {
			return fmt.Errorf("lifecycle: the name queue for %s is broken at %s", name, r.uid)
		}
		if before != 0 && r.stage == StageSyncing && r.flags.hasAny(flagStarted) {
			return fmt.Errorf("lifecycle: I11: %s has started before it holds its full name", r.uid)
		}
		seen[slot], before = true, slot
	}
	if before == 0 || before != queue.tail {
		return fmt.Errorf("lifecycle: the name queue for %s has a wrong tail", name)
	}
	return nil
}
