package lifecycle

import "k8s.io/apimachinery/pkg/types"

// A pod whose work failed because the runtime could not be asked is stranded: its
// backoff is for failures that may pass or not, and this one has passed the moment
// the runtime answers about the pod. So an answer cuts the wait short. It does so
// once per silence: where the runtime shows the pod and yet cannot do what is asked,
// the backoff is the right one.

// Silent tells that the runtime, asked about a pod, has not answered.
func (t *Table) Silent(uid types.UID) {
	if r := t.find(uid); r != nil {
		r.roused = false
	}
}

// Answered tells that the runtime, asked about a pod, has answered. It wakes the pod
// if that waits for nothing else.
func (t *Table) Answered(uid types.UID, out *Effects) {
	r := t.find(uid)
	if r == nil || !r.stranded || r.roused || r.activity != idle || t.down {
		return
	}
	r.stranded, r.roused = false, true
	t.unqueue(r, out)
	t.wake(r, out)
}
