package podworkers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// storeFailedStatusAndCountTransient stores the runtime status that the call was given if the call did not
// succeed, or nil if it succeeded. It also counts FailedTransient results in a row; any other result resets
// that count.
func (r *record) storeFailedStatusAndCountTransient(j *job, result lifecycle.Result) {
	r.failedCallStatus = nil
	if !result.OK() {
		r.failedCallStatus = j.status
	}
	if result != lifecycle.FailedTransient {
		r.transientFailures = 0
		return
	}
	r.transientFailures++
}

// endBackoffIfRuntimeChanged compares the cached runtime status of a pod with the status that its failed call
// was given, and ends the pod's backoff if lifecycle.RuntimeChange finds a change. If the cache returns an
// error, the pod goes on waiting.
func (w *Workers) endBackoffIfRuntimeChanged(uid types.UID, ref lifecycle.Ref, incarnation uint64) {
	now, err := w.config.Cache.Get(uid)
	if err != nil {
		return
	}
	w.mu.Lock()
	before := w.mu.records.recordAtOrAllocate(ref).failedCallStatus
	w.mu.Unlock()
	change := lifecycle.RuntimeChange(before, now)
	if change == "" {
		return
	}
	w.config.Log.Debug("the runtime shows a change of a pod that waits for its backoff", "uid", uid, "change", change)
	var act actions
	w.mu.Lock()
	w.mu.table.EndBackoff(ref, incarnation, &w.mu.effects)
	w.applyEffectsLocked(&act, nil)
	w.mu.Unlock()
	w.performActions(&act)
}
