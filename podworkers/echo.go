package podworkers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// storeFailedStatusAndCountTransient stores the runtime status that a failed call of the syncer got. After a
// call that succeeded it stores nil. It also counts FailedTransient results in a row; any other result resets
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

// endBackoffIfRuntimeStatusChanged ends the backoff of a pod whose last call failed, if lifecycle.RuntimeChange
// finds a change in the runtime. It compares the runtime status that the failed call got with the status in the
// cache. If the cache returns an error, it does nothing.
func (w *Workers) endBackoffIfRuntimeStatusChanged(uid types.UID, ref lifecycle.Ref, incarnation uint64) {
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
