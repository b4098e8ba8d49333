package lifecycle

import "k8s.io/apimachinery/pkg/types"

// A call that failed because the runtime did not answer needs no full backoff: it can succeed as
// soon as the runtime answers about the pod. So an answer of the runtime wakes the pod. It does so
// once per outage. If the runtime answers but the next call fails too, the backoff applies.

// RuntimeSilent records that the runtime did not answer a request about a pod.
func (t *Table) RuntimeSilent(uid types.UID) {
	if r := t.findRecord(uid); r != nil {
		r.wokenByRuntime = false
	}
}

// RuntimeAnswered records that the runtime answered a request about a pod. It wakes the pod if the
// pod waits only for the runtime.
func (t *Table) RuntimeAnswered(uid types.UID, out *Effects) {
	r := t.findRecord(uid)
	if r == nil || !r.waitsForRuntime || r.wokenByRuntime || r.activity != idle || t.shutDown {
		return
	}
	r.waitsForRuntime, r.wokenByRuntime = false, true
	t.removeRetry(r, out)
	t.wakeIdleWorker(r, out)
}
