package podworkers

import "k8s.io/apimachinery/pkg/types"

// Observed reports the result of an observation of a pod: nil if the runtime has answered. An
// answer wakes a pod that waits only because the runtime did not answer before. Observed can be
// used as pleg.Hooks.Inspected. It may be called at any time and never blocks. Without it such pods
// wait for their backoff.
//
// A Config.Cache with the method RequestRelist receives a request for each pod that fails in this
// way, after the pod has begun to wait. An observation that was made before would say nothing about
// the time after the failure.
func (w *Workers) Observed(uid types.UID, err error) {
	var act actions
	w.mu.Lock()
	if err != nil {
		w.mu.table.RuntimeSilent(uid)
	} else {
		w.mu.table.RuntimeAnswered(uid, &w.mu.effects)
	}
	w.applyEffectsLocked(&act, nil)
	w.mu.Unlock()
	w.performActions(&act)
}
