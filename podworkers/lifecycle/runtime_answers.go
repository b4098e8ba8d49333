package lifecycle

import "k8s.io/apimachinery/pkg/types"

// A pod whose work failed because the runtime could not be asked is waiting for the runtime: its
// backoff is for failures that may pass or not, and this one has passed the moment
// the runtime answers about the pod. So an answer cuts the wait short. It does so
// once per silence: where the runtime shows the pod and yet cannot do what is asked,
// the backoff is the right one.

// RuntimeSilent tells that the runtime, asked about a pod, has not answered.
func (t *Table) RuntimeSilent(uid types.UID) {
	if r := t.find(uid); r != nil {
		r.wokenByRuntime = false
	}
}

// RuntimeAnswered tells that the runtime, asked about a pod, has answered. It wakes the pod
// if that waits for nothing else.
func (t *Table) RuntimeAnswered(uid types.UID, out *Effects) {
	r := t.find(uid)
	if r == nil || !r.waitsForRuntime || r.wokenByRuntime || r.activity != idle || t.down {
		return
	}
	r.waitsForRuntime, r.wokenByRuntime = false, true
	t.unqueue(r, out)
	t.wake(r, out)
}
