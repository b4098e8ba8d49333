package lifecycle

// Work that fails half-way has changed something all the same: it has made a record,
// stopped a container. The runtime shows that, and so gives a reason to sync the pod at
// once, which fails again. Such an echo must not shorten the backoff. What else may have
// happened is news, and does.

// mayEcho is true if a change that the runtime shows may be the echo of the pod's
// own work: of one that has failed, or of one that still runs and may fail.
func (r *record) mayEcho() bool {
	return !r.pending && (r.activity.isRunning() || r.activity == idle && r.failed)
}

// compare asks for the comparison of what the runtime has shown meanwhile, if it
// has, of a pod that waits after a failure.
func (t *Table) compare(r *record, out *Effects) {
	if r.shown && r.failed && r.activity == idle {
		r.shown = false
		emit(out, OpCompare, r)
	}
}

// Changed tells that the runtime shows more of a pod than what its failed work has
// left behind. It ends the wait for the backoff. For a pod that does not wait for
// one any more, and for a Ref or an incarnation that is over, it does nothing.
func (t *Table) Changed(ref Ref, incarnation uint64, out *Effects) {
	r := t.slots.get(ref)
	if r == nil || r.incarnation != incarnation || !r.failed || r.activity != idle || t.down {
		return
	}
	t.unqueue(r, out)
	t.wake(r, out)
}
