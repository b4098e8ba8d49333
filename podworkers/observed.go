package podworkers

import "k8s.io/apimachinery/pkg/types"

// Observed reports the result of an observation of a pod: nil if the runtime has
// answered. An answer wakes a pod that waits only because the runtime could not be
// asked. It fits pleg.Hooks.Inspected, may be called at any time, and never blocks;
// without it such pods wait for their backoff.
//
// A Config.Cache with the method RequestRelist is asked for an observation of each pod
// that fails so, after it has begun to wait: one that ends before that tells nothing of
// the time after it.
func (w *Workers) Observed(uid types.UID, err error) {
	var act actions
	w.mu.Lock()
	if err != nil {
		w.mu.table.RuntimeSilent(uid)
	} else {
		w.mu.table.RuntimeAnswered(uid, &w.mu.effects)
	}
	w.applyLocked(&act, nil)
	w.mu.Unlock()
	w.do(&act)
}
