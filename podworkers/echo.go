package podworkers

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// ended notes how a call has ended.
func (r *record) ended(j *job, result lifecycle.Result) {
	r.seen = nil
	if !result.OK() {
		r.seen = j.status
	}
	if result != lifecycle.FailedTransient {
		r.transients = 0
		return
	}
	r.transients++
}

// compare compares what the runtime shows of a pod with what its failed call was
// shown, and wakes the pod if there is more to see than what that has left behind.
// An observation that failed makes nothing more likely to succeed.
func (w *Workers) compare(uid types.UID, ref lifecycle.Ref, incarnation uint64) {
	now, err := w.config.Cache.Get(uid)
	if err != nil {
		return
	}
	w.mu.Lock()
	before := w.mu.records.at(ref).seen
	w.mu.Unlock()
	change := lifecycle.RuntimeChange(before, now)
	if change == "" {
		return
	}
	w.config.Log.Debug("the runtime shows a change of a pod that waits for its backoff", "uid", uid, "change", change)
	var act actions
	w.mu.Lock()
	w.mu.table.Changed(ref, incarnation, &w.mu.effects)
	w.applyLocked(&act, nil)
	w.mu.Unlock()
	w.do(&act)
}
