package podworkers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// recordResult stores what the retry after this call needs: the status that a failed call was
// given, and the number of transient failures in a row.
func (r *record) recordResult(j *job, result lifecycle.Result) {
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

// endBackoffOnChange wakes a pod that waits after a failed call, if the runtime shows a change that
// the failed call cannot have caused. If the cache returns an error, the pod goes on waiting.
func (w *Workers) endBackoffOnChange(uid types.UID, ref lifecycle.Ref, incarnation uint64) {
	now, err := w.config.Cache.Get(uid)
	if err != nil {
		return
	}
	w.mu.Lock()
	before := w.mu.records.at(ref).failedCallStatus
	w.mu.Unlock()
	change := lifecycle.RuntimeChange(before, now)
	if change == "" {
		return
	}
	w.config.Log.Debug("the runtime shows a change of a pod that waits for its backoff", "uid", uid, "change", change)
	var act actions
	w.mu.Lock()
	w.mu.table.EndBackoff(ref, incarnation, &w.mu.effects)
	w.applyLocked(&act, nil)
	w.mu.Unlock()
	w.performActions(&act)
}
