package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
)

// Done stores the result of the running call. It returns false and changes nothing if that call is
// not running, for example if it belongs to an earlier incarnation. The effects wake the pod if
// more work is due at once, or enqueue its retry, or finish it.
func (t *Table) Done(ref Ref, incarnation uint64, result Result, out *Effects) bool {
	r := t.slots.recordOrNilIfStale(ref)
	if r == nil || r.incarnation != incarnation || !r.activity.isRunning() {
		return false
	}
	kind := r.activity.calledSyncerMethod()
	r.activity, r.stable = idle, result == Stable
	if result != FailedRuntimeUnavailable {
		r.wokenByRuntime = false
	}
	before := r.stage
	if result.OK() && t.advanceStage(r, kind, result, out) {
		return true
	}
	if r.pending || r.stage != before || r.runtimeChanged && !result.isFailureNotCancelled() {
		t.wakeIdleWorker(r, out)
		return true
	}
	t.enqueueRetry(r, result.backoffClass(kind), out)
	r.waitsForRuntime, r.failed = result == FailedRuntimeUnavailable, result.isFailureNotCancelled()
	t.emitCompareIfRuntimeChanged(r, out)
	return true
}

// isFailureNotCancelled reports whether the syncer's call returned an error and was not cancelled.
func (r Result) isFailureNotCancelled() bool { return !r.OK() && r != Cancelled }

// OK reports whether the call returned no error.
func (r Result) OK() bool { return r == Succeeded || r == Completed || r == Stable }

// backoffClass returns the class of the delay before the pod's next call if the pod stays in its stage. A
// cancelled call has the class Failed. After the result FailedFinally a SyncPod waits for the next resync, but
// a termination is retried with the class Failed.
func (r Result) backoffClass(k Kind) backoff.Class {
	switch {
	case r == Stable && k == SyncPod:
		return backoff.Stable
	case r.OK():
		return backoff.Resync
	case r == FailedTransient:
		return backoff.Transient
	case r == FailedRetryAt:
		return backoff.RetryAt
	case r == FailedRuntimeUnavailable:
		return backoff.Unavailable
	case r == FailedFinally && k == SyncPod:
		return backoff.Resync
	default:
		return backoff.Failed
	}
}

// advanceStage moves a pod to its next stage after a call that succeeded. A SyncPod moves the pod only with the
// result Completed. It returns true if the pod was finished or its record was forgotten. That includes the case
// in which the pod that waits under the same UID has taken over the record. Updates that arrived during the
// call do not matter.
func (t *Table) advanceStage(r *record, kind Kind, result Result, out *Effects) (finishedOrForgotten bool) {
	switch kind {
	case SyncPod:
		if result == Completed {
			t.terminateCompleted(r, out)
		}
	case SyncTerminatingPod:
		t.finishTermination(r, out)
	case SyncTerminatingRuntimePod:
		if r.isRuntimeOnly() {
			t.promoteSuccessorOrForget(r, out)
			return true
		}
		t.finishTermination(r, out) // A source has delivered the pod in the meantime: it needs its cleanup.
	case SyncTerminatedPod:
		t.finishPod(r, cleanupDone, out)
		return true
	}
	return false
}

// terminateCompleted starts the termination of a pod after SyncPod has reported its completion. If the pod was
// not terminating yet, the pod object's own grace period becomes the effective one. A later kill can shorten it
// but not lengthen it.
func (t *Table) terminateCompleted(r *record, out *Effects) {
	if r.stage == StageSyncing {
		r.grace, r.graceFromContent = r.contentGrace(), true
	}
	t.moveStage(r, podCompleted, out)
}

// finishTermination moves a pod to Terminated after its containers were stopped, and resolves the tickets of
// its kills. A static pod leaves the queue for its full name; the next pod of the queue is woken if an update
// of it is pending. The cleanup (SyncTerminatedPod) is still to come.
func (t *Table) finishTermination(r *record, out *Effects) {
	t.moveStage(r, containersStopped, out)
	t.resolveTickets(r, Stopped, out)
	t.leaveNameQueueAndWakeNext(r, out)
}

// promoteSuccessorOrForget ends the record of a pod that only the runtime knew, after its containers were
// stopped. Such a pod needs no cleanup. It resolves the pod's tickets (its pending kills). If a pod waits under
// the same UID, that pod takes over the record at once. If none waits, it deletes the record.
func (t *Table) promoteSuccessorOrForget(r *record, out *Effects) {
	t.resolveTickets(r, Stopped, out)
	if r.successor() != nil {
		t.promoteSuccessor(r, out)
		return
	}
	t.forgetRecord(r, Stopped, out)
}

// finishPod moves a pod to Finished, clears its pending work and its retry, resolves its open tickets with
// NeverStarted, and takes it out of the queue for its full name. The pod that waits under the same UID then
// takes over the record. If none waits, the record stays until the pod is no longer desired, so that the same
// pod is not started again.
func (t *Table) finishPod(r *record, cause transition, out *Effects) {
	t.moveStage(r, cause, out)
	r.activity, r.pending = idle, false
	r.failed, r.runtimeChanged = false, false
	t.removeRetry(r, out)
	t.resolveTickets(r, NeverStarted, out)
	t.leaveNameQueueAndWakeNext(r, out)
	if r.successor() != nil {
		t.promoteSuccessor(r, out)
	}
}

// Due wakes a pod whose entry from OpRequeue has become due. The pod is synced with its last
// content. Due does nothing for a pod that is busy or already woken, because the end of that work
// makes a new entry.
func (t *Table) Due(uid types.UID, out *Effects) {
	r := t.findRecord(uid)
	if r == nil || !r.inWorkQueue || t.shutDown {
		return
	}
	r.inWorkQueue = false
	t.wakeIdleWorker(r, out)
}
