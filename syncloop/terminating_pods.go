package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TerminatingPod is a pod whose containers have not stopped and have to.
type TerminatingPod struct {
	// Pod is the pod as its worker has it. It is shared, and only read.
	Pod *v1.Pod
	// Since is when it has begun to end, as far as the handlers know, and Until when
	// it should have ended.
	Since, Until time.Time
	// RuntimeOnly: an agent before this one has started it, and no source has named
	// it. Pod is what the runtime tells of it.
	RuntimeOnly bool
	// KillAt is when the termination of a RuntimeOnly pod begins unless a source names
	// it; zero: it has begun, or not every source that it may belong to has been heard.
	KillAt time.Time
}

// TerminatingPod finds one of TerminatingPods. It may be called from anywhere.
func (h *Handlers) TerminatingPod(uid types.UID) (TerminatingPod, bool) {
	if p := h.shared.get(uid).terminating; p != nil {
		return *p, true
	}
	return TerminatingPod{}, false
}

// TerminatingPods lists the pods whose containers have not stopped and have to, by UID. It
// may be called from anywhere.
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
