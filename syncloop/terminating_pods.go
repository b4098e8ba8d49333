package syncloop

import (
	"cmp"
	"slices"
	"sync"
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
	// EndAt is when the termination of a RuntimeOnly pod begins unless a source names
	// it; zero: it has begun, or not every source that it may belong to has been heard.
	EndAt time.Time
}

// told is what others may ask about pods that are ending.
type told struct {
	mu struct {
		sync.Mutex
		pods map[types.UID]TerminatingPod
	}
}

func (t *told) set(e TerminatingPod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.pods == nil {
		t.mu.pods = make(map[types.UID]TerminatingPod)
	}
	t.mu.pods[e.Pod.UID] = e
}

func (t *told) drop(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mu.pods, uid)
}

// TerminatingPod finds one of TerminatingPods. It may be called from anywhere.
func (h *Handlers) TerminatingPod(uid types.UID) (TerminatingPod, bool) {
	t := &h.places.told
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.mu.pods[uid]
	return e, ok
}

// TerminatingPods lists the pods whose containers have not stopped and have to, by UID. It
// may be called from anywhere.
func (h *Handlers) TerminatingPods() []TerminatingPod {
	t := &h.places.told
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]TerminatingPod, 0, len(t.mu.pods))
	for _, e := range t.mu.pods {
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b TerminatingPod) int { return cmp.Compare(a.Pod.UID, b.Pod.UID) })
	return all
}
