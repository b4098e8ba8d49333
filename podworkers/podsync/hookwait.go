package podsync

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// errContainerEnded means that the container of a hook exited while the hook ran.
var errContainerEnded = errors.New("podsync: the container has ended")

// hookWaits has the hooks that syncs wait for. A wait ends when the container of the hook exits.
type hookWaits struct {
	mu struct {
		sync.Mutex
		pods map[types.UID][]*hookWait
	}
}

// hookWait is one hook that a sync waits for.
type hookWait struct {
	containerID    string
	containerEnded executor.Latch
	cancel         context.CancelFunc // cancels the call that runs the hook
	missingBefore  bool               // the last observation did not show the container
}

// addWait adds a hook for which a sync waits, so that an exit of the container ends the wait. It returns
// remove, which deletes the hook again.
func (h *hookWaits) addWait(uid types.UID, w *hookWait) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.pods == nil {
		h.mu.pods = make(map[types.UID][]*hookWait)
	}
	h.mu.pods[uid] = append(h.mu.pods[uid], w)
	return func() { h.removeWait(uid, w) }
}

// removeWait deletes one wait of a pod. With the last wait it also deletes the map entry of the pod.
func (h *hookWaits) removeWait(uid types.UID, w *hookWait) {
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

// updateAndListEndedWaits returns the hook waits of a pod whose container has exited, by a new runtime status.
// A container that is missing in two statuses in a row has exited too; so the function stores which containers
// this status lacks. It does not end the waits.
func (h *hookWaits) updateAndListEndedWaits(status *runtime.PodStatus) (ended []*hookWait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.mu.pods[status.UID] {
		switch state, shown := stateByID(status, w.containerID); {
		case !shown && w.missingBefore, state == runtime.StateExited:
			ended = append(ended, w)
		default:
			w.missingBefore = !shown
		}
	}
	return ended
}

// stateByID returns the state of the container with an ID. shown is false if the status does not have the
// container.
func stateByID(status *runtime.PodStatus, id string) (state runtime.State, shown bool) {
	for i := range status.Containers {
		if c := &status.Containers[i]; c.ID == id {
			return c.State, true
		}
	}
	return state, false
}

// ObservePod passes the status of an inspected pod to the Syncer. If the container of a hook has
// exited, the Syncer stops waiting for the hook. Call it after each inspection. It may be called
// concurrently with all other methods and does not block. If it is not called, a hook of an exited
// container runs until its deadline. ObservePod does not change status.
func (s *Syncer) ObservePod(status *runtime.PodStatus) {
	if status == nil {
		return
	}
	for _, w := range s.hooks.updateAndListEndedWaits(status) {
		w.containerEnded.Open()
		w.cancel()
	}
}
