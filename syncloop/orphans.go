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

// orphans are the pods that run, have no worker and should not run. Those of an earlier agent may have a
// late manifest, so they keep running for their orphan grace.
type orphans struct {
	*podStates
	graces graces
	// over is set when every orphan grace is over. Any goroutine reads it.
	over atomic.Bool
}

// OrphanGraceOver reports whether every source has been heard, and its grace for what
// an agent before this one has left is over. Until then directories of pods that this
// process does not know must be kept. It may be called from anywhere.
func (h *Handlers) OrphanGraceOver() bool { return h.over.Load() }

// recordCompleteSources notes which sources are complete.
func (o *orphans) recordCompleteSources() {
	if o.over.Load() {
		return
	}
	now := o.config.Clock.Now()
	names := o.config.Sources.Names()
	for _, name := range names {
		if o.config.Sources.Complete(name) {
			o.graces.recordComplete(name, now)
		}
	}
	if until, heard := o.graces.graceEnd(names); heard && !now.Before(until) {
		o.over.Store(true)
	}
}

// possibleSources returns the sources that a pod of the runtime may belong to: those that its sandboxes name. If
// they name none that the node has, the pod may belong to any source.
func (o *orphans) possibleSources(pod *runtime.Pod) []string {
	names := o.config.Sources.Names()
	owners := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFromSource(pod, name) })
	if len(owners) == 0 {
		return names
	}
	return owners
}

// mayHaveLateManifest reports whether a pod is an earlier agent's and the grace of its source is not over.
func (o *orphans) mayHaveLateManifest(pod *runtime.Pod) bool {
	if o.over.Load() || o.readRecord(pod.UID).hadWorker {
		return false
	}
	until, heard := o.graces.graceEnd(o.possibleSources(pod))
	return !heard || o.config.Clock.Now().Before(until)
}

// deferKill leaves an orphan alone and reports true, if its manifest may be late and it does not block
// another pod. It records an event the first time.
func (o *orphans) deferKill(pod *runtime.Pod) bool {
	_, desired := o.config.Manager.GetPodByUID(pod.UID)
	if desired || !o.mayHaveLateManifest(pod) || o.blocksOtherPod(pod) {
		return false
	}
	until, heard := o.graces.graceEnd(o.possibleSources(pod))
	if !o.readRecord(pod.UID).orphanGraceEnd.IsZero() || !heard {
		return true
	}
	o.setOrphanGraceEnd(pod.UID, until)
	o.observePod(pod.UID)
	message := "no source has named the pod, which was started before this agent; it is ended at " + until.UTC().Format(time.RFC3339) +
		" unless one does, or at once if another pod needs its name or a host port"
	o.config.Recorder.Event(podFromRuntime(pod), v1.EventTypeWarning, ReasonNotDesired, message)
	o.config.Log.Info("a pod that no source has named is left alone for now", "pod", pod.Name, "namespace", pod.Namespace, "uid", pod.UID, "until", until)
	return true
}

// handleOrphanGraces kills pods that are left alone and block another pod, requests housekeeping if a grace is
// over, and returns when the next grace is over.
func (o *orphans) handleOrphanGraces() (next time.Time, timed bool) {
	if o.over.Load() {
		return time.Time{}, false
	}
	o.killBlockingOrphans()
	now := o.config.Clock.Now()
	for _, uid := range o.deferredOrphans() {
		until := o.readRecord(uid).orphanGraceEnd
		next, timed = earlierTime(next, timed, until, now.Before(until))
		if !now.Before(until) {
			o.requestHousekeeping()
		}
	}
	if until, heard := o.graces.graceEnd(o.config.Sources.Names()); heard {
		next, timed = earlierTime(next, timed, until, now.Before(until))
		if !now.Before(until) {
			o.over.Store(true)
			o.requestHousekeeping()
		}
	}
	return next, timed
}

// earlierTime returns the earlier of two times, each of which may be missing.
func earlierTime(a time.Time, aTimed bool, b time.Time, bTimed bool) (time.Time, bool) {
	if !bTimed || aTimed && a.Before(b) {
		return a, aTimed
	}
	return b, true
}

// deferredOrphans lists the pods that are left alone.
func (o *orphans) deferredOrphans() []types.UID {
	if o.deferredKills == 0 {
		return nil
	}
	return o.uidsWhere(func(r *record) bool { return !r.orphanGraceEnd.IsZero() })
}

// blocksOtherPod reports whether another pod needs the name or a host port of an orphan, or the node is Closed
// and terminates its pods.
func (o *orphans) blocksOtherPod(pod *runtime.Pod) bool {
	orphan := o.orphanWithClaims(pod)
	return o.config.Closed() || o.table.ConflictsWith(&orphan)
}

// killBlockingOrphans kills pods that are left alone and block another pod.
func (o *orphans) killBlockingOrphans() {
	if o.deferredKills == 0 {
		return
	}
	running := o.config.Runtime.Pods()
	for i := range running {
		pod := &running[i]
		if !o.readRecord(pod.UID).orphanGraceEnd.IsZero() && pod.MayRun() && o.blocksOtherPod(pod) && o.isOrphan(pod) {
			o.killOrphan(pod)
		}
	}
}
