package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Done takes the result of work that was taken, and returns false if that work
// is not the one that is running: a result of an earlier incarnation changes nothing.
// The effects are a wake-up if more is to be done at once, else a time to look
// again, else the end.
func (t *Table) Done(ref Ref, incarnation uint64, result Result, out *Effects) bool {
	r := t.slots.get(ref)
	if r == nil || r.incarnation != incarnation || !r.activity.isRunning() {
		return false
	}
	kind := r.activity.kind()
	r.activity, r.stable = idle, result == Stable
	if result != FailedRuntimeUnavailable {
		r.wokenByRuntime = false
	}
	before := r.stage
	if result.OK() && t.advance(r, kind, result, out) {
		return true
	}
	if r.pending || r.stage != before || r.shown && !result.failed() {
		t.wake(r, out)
		return true
	}
	t.requeue(r, result.class(kind), out)
	r.waitsForRuntime, r.failed = result == FailedRuntimeUnavailable, result.failed()
	t.compare(r, out)
	return true
}

// failed is true if the work did not do what it was to do, and was not cut short.
func (r Result) failed() bool { return !r.OK() && r != Cancelled }

// OK reports whether the work was done without an error.
func (r Result) OK() bool { return r == Succeeded || r == Completed || r == Stable }

// class says how soon a pod is looked at after a result that moved nothing.
func (r Result) class(k Kind) backoff.Class {
	switch {
	case r == Stable && k == SyncPod:
		return backoff.Stable
	case r.OK():
		return backoff.Resync
	case r == FailedTransient:
		return backoff.Transient
	case r == FailedAsked:
		return backoff.Asked
	case r == FailedRuntimeUnavailable:
		return backoff.Unavailable
	case r == FailedFinally && k == SyncPod:
		return backoff.Resync
	default:
		return backoff.Failed
	}
}

// advance moves a pod on after work of a kind was done without an error, and
// reports whether its life is over. What the pod was told meanwhile does not
// matter here: a SyncPod never ends a termination, however late it returns.
func (t *Table) advance(r *record, k Kind, result Result, out *Effects) (over bool) {
	switch k {
	case SyncPod:
		if result == Completed {
			t.complete(r, out)
		}
	case SyncTerminatingPod:
		t.stop(r, out)
	case SyncTerminatingRuntimePod:
		if r.runtimeOnly() {
			t.vanish(r, out)
			return true
		}
		t.stop(r, out) // a source has claimed it meanwhile: clean up for it too
	case SyncTerminatedPod:
		t.finish(r, cleaned, out)
		return true
	}
	return false
}

// complete begins the end of a pod that has come to it by itself. Its grace is
// what its content says, so none is passed on; but it counts as the grace in
// force, so that a kill can shorten it and can not lengthen it.
func (t *Table) complete(r *record, out *Effects) {
	if r.stage == StageSyncing {
		r.grace, r.implicit = r.fallback, true
	}
	t.move(r, ended, out)
}

// stop is reached when nothing of a pod runs any more: whoever waits for that
// is told, and the full name goes to the next in the name queue. Cleanup keeps neither.
func (t *Table) stop(r *record, out *Effects) {
	t.move(r, stopped, out)
	t.resolve(r, Stopped, out)
	t.leave(r, out)
}

// vanish ends a pod that only the runtime knew. There is no desire to be
// reported to, and nothing to be cleaned: the UID is free at once.
func (t *Table) vanish(r *record, out *Effects) {
	t.resolve(r, Stopped, out)
	if r.successor() != nil {
		t.promote(r, out)
		return
	}
	t.forget(r, Stopped, out)
}

// finish ends a life. The record stays, so that the UID is not taken for a new
// one, until the pod is not desired any more; a successor takes it over.
func (t *Table) finish(r *record, e event, out *Effects) {
	t.move(r, e, out)
	r.activity, r.pending = idle, false
	r.failed, r.shown = false, false
	t.unqueue(r, out)
	t.resolve(r, NeverStarted, out)
	t.leave(r, out)
	if r.successor() != nil {
		t.promote(r, out)
	}
}

// Due tells that the entry which OpRequeue has made for a pod has come up: the
// last content is run again. It does nothing for a pod that is busy, or has
// work already, for then that work ends with a new entry.
func (t *Table) Due(uid types.UID, out *Effects) {
	r := t.find(uid)
	if r == nil || !r.queued || t.down {
		return
	}
	r.queued = false
	t.wake(r, out)
}
