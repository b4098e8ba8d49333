package syncloop

import (
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// DefaultOrphanGrace is how long a pod is left alone that an agent before this one has
// started and that no source names at first.
const DefaultOrphanGrace = 30 * time.Second

// ReasonNotDesired is the reason of such a pod, and of the event that says so.
const ReasonNotDesired = "NotDesired"

// leftovers are the pods of an earlier agent that no source names yet.
type leftovers struct {
	graces graces
	// over: no pod is left alone any more. Any goroutine reads it.
	over atomic.Bool
}

// OrphanGraceOver reports whether every source has been heard, and its grace for what
// an agent before this one has left is over. Until then directories of pods that this
// process does not know must be kept. It may be called from anywhere.
func (h *Handlers) OrphanGraceOver() bool { return h.leftovers.over.Load() }

// noteCompleteSources notes which sources are complete.
func (h *Handlers) noteCompleteSources() {
	if h.OrphanGraceOver() {
		return
	}
	now := h.config.Clock.Now()
	names := h.config.Sources.Names()
	for _, name := range names {
		if h.config.Sources.Complete(name) {
			h.leftovers.graces.complete(name, now)
		}
	}
	if until, heard := h.leftovers.graces.until(names); heard && !now.Before(until) {
		h.leftovers.over.Store(true)
	}
}

// owners returns the sources that a pod of the runtime may belong to: those that its sandboxes name. If
// they name none that the node has, the pod may belong to any source.
func (h *Handlers) owners(pod *runtime.Pod) []string {
	names := h.config.Sources.Names()
	owners := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFromSource(pod, name) })
	if len(owners) == 0 {
		return names
	}
	return owners
}

// mayBeLate reports whether a pod is an earlier agent's and the grace of its source is not over.
func (h *Handlers) mayBeLate(pod *runtime.Pod) bool {
	if h.OrphanGraceOver() || h.known(pod.UID).worked {
		return false
	}
	until, heard := h.leftovers.graces.until(h.owners(pod))
	return !heard || h.config.Clock.Now().Before(until)
}

// leaveAlone leaves an orphan alone and reports true, if its manifest may be late and it does not block
// another pod. It records an event the first time.
func (h *Handlers) leaveAlone(pod *runtime.Pod) bool {
	_, desired := h.config.Manager.GetPodByUID(pod.UID)
	if desired || !h.mayBeLate(pod) || h.blocksOther(pod) {
		return false
	}
	until, heard := h.leftovers.graces.until(h.owners(pod))
	if !h.known(pod.UID).aloneUntil.IsZero() || !heard {
		return true
	}
	h.setAlone(pod.UID, until)
	h.observe(pod.UID)
	message := "no source has named the pod, which was started before this agent; it is ended at " + until.UTC().Format(time.RFC3339) +
		" unless one does, or at once if another pod needs its name or a host port"
	h.config.Recorder.Event(skeleton(pod), v1.EventTypeWarning, ReasonNotDesired, message)
	h.config.Log.Info("a pod that no source has named is left alone for now", "pod", pod.Name, "namespace", pod.Namespace, "uid", pod.UID, "until", until)
	return true
}

// handleLeftovers kills pods that are left alone and block another pod, requests housekeeping if a grace is
// over, and returns when the next grace is over.
func (h *Handlers) handleLeftovers() (next time.Time, timed bool) {
	if h.OrphanGraceOver() {
		return time.Time{}, false
	}
	h.killBlocking()
	now := h.config.Clock.Now()
	for _, uid := range h.alone() {
		until := h.known(uid).aloneUntil
		next, timed = earlier(next, timed, until, now.Before(until))
		if !now.Before(until) {
			h.clean()
		}
	}
	if until, heard := h.leftovers.graces.until(h.config.Sources.Names()); heard {
		next, timed = earlier(next, timed, until, now.Before(until))
		if !now.Before(until) {
			h.leftovers.over.Store(true)
			h.clean()
		}
	}
	return next, timed
}

// earlier returns the earlier of two times, each of which may be missing.
func earlier(a time.Time, aTimed bool, b time.Time, bTimed bool) (time.Time, bool) {
	if !bTimed || aTimed && a.Before(b) {
		return a, aTimed
	}
	return b, true
}

// alone lists the pods that are left alone.
func (h *Handlers) alone() []types.UID {
	if h.leftAlone == 0 {
		return nil
	}
	return h.uidsOf(func(r *record) bool { return !r.aloneUntil.IsZero() })
}

// blocksOther reports whether another pod needs the name or a host port of an orphan, or the node is Closed
// and terminates its pods.
func (h *Handlers) blocksOther(pod *runtime.Pod) bool {
	orphan := h.orphan(pod)
	return h.config.Closed() || h.table.ConflictsWith(&orphan)
}

// killBlocking kills pods that are left alone and block another pod.
func (h *Handlers) killBlocking() {
	if h.leftAlone == 0 {
		return
	}
	running := h.config.Runtime.Pods()
	for i := range running {
		pod := &running[i]
		if !h.known(pod.UID).aloneUntil.IsZero() && pod.MayRun() && h.blocksOther(pod) && h.isOrphan(pod) {
			h.killOrphan(pod)
		}
	}
}
