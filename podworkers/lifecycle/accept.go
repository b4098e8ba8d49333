package lifecycle

import "fmt"

// Update takes in the desired state of a pod. It is called for every change
// of the desired state, and for anything else that is a reason to sync the pod. The
// newest content wins; what can not be undone is sticky and survives any
// later update, in any order of arrival. An error is ErrInvalid or ErrShutdown.
func (t *Table) Update(u Update, out *Effects) (Accepted, error) {
	return t.accept(&u, false, out)
}

// Kill is Update with type SyncPodKill and a ticket, which is resolved exactly
// once, perhaps by the effects of this very call. There is no ticket if there
// is an error.
func (t *Table) Kill(u Update, out *Effects) (Accepted, error) {
	u.Type = SyncPodKill
	return t.accept(&u, true, out)
}

// accept is the one way in. It has three parts, in this order: what the update
// changes, what becomes of the ticket, what is to be done at once.
func (t *Table) accept(u *Update, ticket bool, out *Effects) (Accepted, error) {
	if err := t.check(u); err != nil {
		return Accepted{}, err
	}
	if u.Subject == RuntimePod {
		if u.Type != SyncPodKill {
			return Accepted{}, nil
		}
		u.Facts = Facts{} // the runtime knows nothing of the desired state
	}
	r := t.find(u.UID)
	if r != nil && r.follows(u) {
		t.succeed(r, u, out)
		return Accepted{Disposition: Queued, Ref: r.ref(), Generation: t.generation}, nil
	}
	var c change
	switch {
	case r == nil:
		r, c = t.meet(u, out)
	case u.Subject == RuntimePod && !r.runtimeOnly():
		c = t.orphan(r, u, out)
	default:
		c = t.apply(r, u, out)
	}
	a := Accepted{Disposition: c.disposition, Ref: r.ref()}
	if c.disposition == Current {
		a.Generation = t.generation
	}
	if ticket {
		a.Ticket = t.ticket(r, c, out)
	}
	t.schedule(r, c.cut, out)
	return a, nil
}

// change is what an update has done to its record.
type change struct {
	disposition Disposition
	cut         bool // work that is running must not go on as it is
	podDesired  bool // it wanted the end of a pod and was not heard
}

func (t *Table) check(u *Update) error {
	switch {
	case t.down:
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

// ends is true if the update asks for the end of the pod.
func (u *Update) ends() bool {
	return u.Type == SyncPodKill || u.Facts.Deleted || u.Facts.TerminalPhase
}

// meet makes the record of a pod seen for the first time. One that is over
// already goes straight to its cleanup: nothing can be gained by a sync.
func (t *Table) meet(u *Update, out *Effects) (*record, change) {
	r := t.add(u.UID)
	if u.Subject == RuntimePod {
		r.latches |= observed | deleted
		return r, t.apply(r, u, out)
	}
	t.enter(r, &u.Facts)
	if u.Runtime == RuntimeRunning {
		r.latches |= observed
	}
	if u.Facts.TerminalPhase && u.Runtime == RuntimeStopped {
		t.move(r, lifeless, out)
	}
	return r, t.apply(r, u, out)
}

// enter takes over what a source says about a pod once and for all.
func (t *Table) enter(r *record, f *Facts) {
	r.latches |= config
	if f.Static {
		r.latches |= static
		r.fullName = f.FullName
		t.join(r)
	}
}

// apply makes u the current content of r's incarnation.
func (t *Table) apply(r *record, u *Update, out *Effects) change {
	if u.ends() && u.Subject == ConfigPod && !r.evictSuccessor(u) {
		t.discard(r, out)
	}
	r.latch(u)
	if r.stage == StageFinished {
		return change{}
	}
	wanted := r.stage == StageSyncing
	if u.ends() {
		t.move(r, asked, out)
	}
	t.note(r, u, wanted && u.ends())
	c := change{disposition: Current}
	if r.stage.ending() {
		c.cut = r.shorten(u.Facts.DeletionGrace, u.override()) || wanted
		if u.Kill.PodStatusFunc {
			t.coldFields(r).statusFunc = r.generation
		}
	}
	return c
}

// latch sets the sticky flags of an update. It does not depend on the stage, so the order in which such facts
// arrive makes no difference.
func (r *record) latch(u *Update) {
	if u.Facts.Deleted {
		r.latches |= deleted
	}
	if u.Type == SyncPodKill && u.Kill.Evict {
		r.latches |= evicted
	}
}

// note makes u the newest content. news: it wants the end of a pod that was desired.
func (t *Table) note(r *record, u *Update, news bool) {
	t.generation++
	r.generation = t.generation
	if u.Observation && u.Type == SyncPodSync && !news && r.mayEcho() {
		r.shown = true
	} else {
		r.reason, r.pending = u.Type, true
	}
	if u.Subject == ConfigPod {
		r.latches |= config
		t.learn(r, &u.Facts)
	}
}

// learn takes over what a source may say anew with each content.
func (t *Table) learn(r *record, f *Facts) {
	r.fallback = f.DeletionGrace.effective()
	if r.fallback == 0 {
		r.fallback = max(f.SpecGrace.effective(), minGrace)
	}
	r.source = t.source(f.Source)
}

// orphan handles the kill of a running pod that is not, or no longer, known
// from the runtime alone: between observation and kill the pod may have become
// wanted, and then the kill is wrong.
func (t *Table) orphan(r *record, u *Update, out *Effects) change {
	if r.stage >= StageTerminated {
		return change{}
	}
	if u.AsOf < r.generation {
		return change{podDesired: r.stage == StageSyncing}
	}
	r.latches |= observed | deleted
	if r.stage != StageSyncing {
		return change{}
	}
	t.move(r, asked, out)
	r.reason, r.pending = SyncPodKill, true
	r.shorten(Grace{}, u.Kill.Grace)
	return change{cut: true}
}

// ticket gives out the ticket of a kill, settled if there is nothing to wait for.
func (t *Table) ticket(r *record, c change, out *Effects) Ticket {
	t.tickets++
	switch {
	case c.podDesired:
		resolveTicket(out, r, t.tickets, PodDesired)
	case r.stage >= StageTerminated:
		resolveTicket(out, r, t.tickets, AlreadyStopped)
	default:
		t.hold(r, t.tickets)
	}
	return t.tickets
}

// schedule draws the consequence of a change for the work on a pod.
func (t *Table) schedule(r *record, cut bool, out *Effects) {
	switch {
	case r.neverStarted():
		t.finish(r, skipped, out)
	case r.activity.isRunning():
		if cut {
			emit(out, OpCancel, r)
		}
	case r.pending && t.mayRun(r):
		t.wake(r, out)
	default:
		t.compare(r, out)
	}
}
