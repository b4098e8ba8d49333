package lifecycle

import "fmt"

// CheckInvariants looks for a state that must not be, and describes the first
// that it finds. It reads the whole table: it is for tests and diagnosis.
func (t *Table) CheckInvariants() error {
	n := 0
	awaitsName := map[uint32]bool{}
	for name, l := range t.nameQueues {
		if err := t.checkNameQueue(name, l, awaitsName); err != nil {
			return err
		}
	}
	for slot := uint32(1); slot <= t.slots.used; slot++ {
		r := t.slots.at(slot)
		if !r.used() {
			continue
		}
		n++
		if t.byUID[r.uid] != slot {
			return fmt.Errorf("lifecycle: %s#%d is not indexed", r.uid, r.incarnation)
		}
		if fault := t.fault(r, awaitsName[slot]); fault != "" {
			return fmt.Errorf("lifecycle: %s#%d: %s (%s)", r.uid, r.incarnation, fault, r.stage)
		}
	}
	if n != len(t.byUID) {
		return fmt.Errorf("lifecycle: %d records, %d indexed", n, len(t.byUID))
	}
	return nil
}

// fault names what is wrong with one record.
func (t *Table) fault(r *record, awaitsName bool) string {
	has := r.latches.has
	tickets := 0
	if r.coldFields != nil {
		tickets = len(r.coldFields.tickets)
	}
	switch {
	case r.slot == 0 || r.incarnation == 0 || r.generation > t.generation:
		return "numbers"
	case r.stage == StageFinished && (r.activity != idle || r.pending || r.queued):
		return "I3: work is left after the end"
	case r.waitsForRuntime && (r.activity.isRunning() || r.activity == idle && !r.queued || r.stage == StageFinished):
		return "it waits for the runtime and does not wait"
	case r.failed && (r.activity.isRunning() || r.activity == idle && !r.queued || r.stage == StageFinished):
		return "it waits after a failure and does not wait"
	case r.shown && !r.activity.isRunning():
		return "what the runtime has shown was not compared"
	case r.activity.isRunning() && !r.stage.allows(r.activity.kind()):
		return "I2, I4: " + r.activity.kind().String() + " runs"
	case r.activity.isRunning() && !has(started):
		return "it runs but was not started"
	case r.activity == ready && !t.mayRun(r):
		return "I11: it was woken out of turn"
	case r.activity == idle && r.stage != StageFinished && t.mayRun(r) && !r.queued:
		return "I17: it will not be synced again"
	case r.activity == idle && r.pending && t.mayRun(r):
		return "I8: its update waits for nothing"
	case r.stage == StageSyncing && has(deleted|evicted):
		return "I9: it is desired and not desired"
	case r.stage.ending() && r.grace == 0:
		return "I6: no grace"
	case tickets > 0 && !r.stage.ending():
		return "I44: a kill is not answered"
	case r.runtimeOnly() && !(r.stage.ending() && has(observed) && has(deleted)):
		return "I14: the runtime alone does not keep it"
	case r.successor() != nil && (r.stage == StageSyncing || r.stage == StageFinished):
		return "I13: its successor waits for nothing"
	case r.neverStarted() && r.stage != StageFinished:
		return "B-065: it can never start"
	case awaitsName && (!has(static) || r.stage >= StageTerminated), r.fullName != "" && r.stage < StageTerminated && !awaitsName:
		return "I11: its place in the name queue"
	}
	return ""
}

// allows is true if work of kind k may still run in stage s: it was right when
// it was taken, and what was asked since has cancelled it.
func (s Stage) allows(k Kind) bool {
	switch k {
	case SyncPod:
		return s == StageSyncing || s == StageRequested
	case SyncTerminatedPod:
		return s == StageTerminated
	default:
		return s == StageTerminating
	}
}

// checkNameQueue walks the queue of a full name.
func (t *Table) checkNameQueue(name string, l nameQueue, seen map[uint32]bool) error {
	before := uint32(0)
	for slot := l.head; slot != 0; slot = t.slots.at(slot).next {
		r := t.slots.at(slot)
		if seen[slot] || r.prev != before || r.fullName != name || !r.used() {
			return fmt.Errorf("lifecycle: the name queue for %s is broken at %s", name, r.uid)
		}
		if before != 0 && r.stage == StageSyncing && r.latches.has(started) {
			return fmt.Errorf("lifecycle: I11: %s has started out of turn", r.uid)
		}
		seen[slot], before = true, slot
	}
	if before == 0 || before != l.tail {
		return fmt.Errorf("lifecycle: the name queue for %s ends at the wrong place", name)
	}
	return nil
}
