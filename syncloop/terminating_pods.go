package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TerminatingPod is a terminating pod whose containers have not stopped.
type TerminatingPod struct {
	// Pod is the spec that its worker has. It is shared and must not be modified.
	Pod *v1.Pod
	// Since is when the handlers first saw the termination. Until is when the grace period is over.
	Since, Until time.Time
	// RuntimeOnly is true if an earlier agent has started the pod and no source names it. Pod is built from
	// the records of the runtime.
	RuntimeOnly bool
	// KillAt is when a RuntimeOnly pod is killed unless a source names it. It is zero if the pod is being
	// killed, or if a source that it may belong to is not complete yet.
	KillAt time.Time
}

// TerminatingPod returns one pod of TerminatingPods. Any goroutine may call it.
func (h *Handlers) TerminatingPod(uid types.UID) (TerminatingPod, bool) {
	if p := h.shared.copyOfEntryOrZero(uid).terminating; p != nil {
		return *p, true
	}
	return TerminatingPod{}, false
}

// TerminatingPods returns the terminating pods whose containers have not stopped, sorted by UID. Any goroutine
// may call it.
func (h *Handlers) TerminatingPods() []TerminatingPod {
	uids := h.shared.uidsWhere(func(p *sharedPod) bool { return p.terminating != nil })
	all := make([]TerminatingPod, 0, len(uids))
	for _, uid := range uids {
		if p, terminates := h.TerminatingPod(uid); terminates {
			all = append(all, p)
		}
	}
	return all
}
