package lifecycle

// A failed call has often changed the runtime: it created a sandbox, or stopped a container. The
// runtime shows that change, and the change is a reason to sync the pod at once. That sync would
// fail again, without any backoff. Such a change is called an echo of the call, and must not end
// the backoff. Every other change ends it.

// mayHaveCausedChange reports whether the pod's own call may have made a change in the runtime: a call is
// running, or the last call has failed and the pod waits for its retry. It returns false if an update is
// pending, because the pod is then synced anyway.
func (r *record) mayHaveCausedChange() bool {
	return !r.pending && (r.activity.isRunning() || r.activity == idle && r.failed)
}

// emitCompareIfRuntimeChanged emits OpCompare under three conditions: the pod's last call has failed, the pod
// is idle, and the runtime has shown a change since that call started. OpCompare makes the caller check whether
// the failed call itself can have made the change. It clears runtimeChanged, so that it emits OpCompare once
// per change.
func (t *Table) emitCompareIfRuntimeChanged(r *record, out *Effects) {
	if r.runtimeChanged && r.failed && r.activity == idle {
		r.runtimeChanged = false
		appendEffect(out, OpCompare, r)
	}
}

// EndBackoff wakes a pod that waits after a failed call. The caller calls it after OpCompare, if
// the runtime shows a change that the failed call cannot have caused. It does nothing for a pod
// that does not wait after a failure, for a stale Ref and for an earlier incarnation.
func (t *Table) EndBackoff(ref Ref, incarnation uint64, out *Effects) {
	r := t.slots.recordOrNilIfStale(ref)
	if r == nil || r.incarnation != incarnation || !r.failed || r.activity != idle || t.shutDown {
		return
	}
	t.removeRetry(r, out)
	t.wakeIdleWorker(r, out)
}
