package podsync

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// errContainerEnded says that the container of a hook ended while the hook ran.
var errContainerEnded = errors.New("podsync: the container has ended")

// hookWaits are the hooks that syncs wait for. A wait ends when the container of its hook ends.
type hookWaits struct {
	mu struct {
		sync.Mutex
		pods map[types.UID][]*hookWait
	}
}

// hookWait is one hook that a sync waits for.
type hookWait struct {
	container string // its ID
	ended     executor.Latch
	cancel    context.CancelFunc // of the call that runs the hook
	missing   bool               // the last observation did not show the container
}

// startWait begins a wait, and returns the function that ends it.
func (h *hookWaits) startWait(uid types.UID, w *hookWait) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.pods == nil {
		h.mu.pods = make(map[types.UID][]*hookWait)
	}
	h.mu.pods[uid] = append(h.mu.pods[uid], w)
	return func() { h.remove(uid, w) }
}

func (h *hookWaits) remove(uid types.UID, w *hookWait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []*hookWait
	for _, other := range h.mu.pods[uid] {
		if other != w {
			left = append(left, other)
		}
	}
	if h.mu.pods[uid] = left; len(left) == 0 {
		delete(h.mu.pods, uid)
	}
}

// endedWaits returns the waits of a pod whose containers have ended: the status shows them as exited,
// or two statuses in a row do not show them.
func (h *hookWaits) endedWaits(status *runtime.PodStatus) (ended []*hookWait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.mu.pods[status.UID] {
		switch state, shown := stateOfContainer(status, w.container); {
		case !shown && w.missing, state == runtime.StateExited:
			ended = append(ended, w)
		default:
			w.missing = !shown
		}
	}
	return ended
}

func stateOfContainer(status *runtime.PodStatus, id string) (state runtime.State, shown bool) {
	for i := range status.Containers {
		if c := &status.Containers[i]; c.ID == id {
			return c.State, true
		}
	}
	return state, false
}

// ObservePod hands the status of an inspected pod to the Syncer: the Syncer stops waiting for a hook
// when the container of the hook has ended. Call it after each inspection. It may be called
// concurrently with everything else and does not block. Without it a hook ends with its
// time. status is only read.
func (s *Syncer) ObservePod(status *runtime.PodStatus) {
	if status == nil {
		return
	}
	for _, w := range s.hooks.endedWaits(status) {
		w.ended.Open()
		w.cancel()
	}
}
