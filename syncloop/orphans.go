package syncloop

import (
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// DefaultOrphanGrace is how long a running pod of an earlier agent keeps running although no source names it.
const DefaultOrphanGrace = 30 * time.Second

// ReasonNotDesired is the reason of a pod in its orphan grace, and of the event about it.
const ReasonNotDesired = "NotDesired"

// orphans are the pods that run, have no worker and should not run. A pod of an earlier agent may have a
// late manifest, so it keeps running for its orphan grace.
type orphans struct {
	*podStates
	graces graces
	// over is set when every orphan grace is over. Any goroutine reads it.
	over atomic.Bool
}

// OrphanGraceOver reports whether the orphan graces of all sources are over. Before that the directories of
// unknown pods must not be removed. Any goroutine may call it.
func (h *Handlers) OrphanGraceOver() bool { return h.over.Load() }

// startGracesAndStoreIfAllOver starts the orphan grace of each source that has delivered its first complete
// list. In this time the source may still name a pod that an earlier agent has started. When the graces of all
// sources are over, it stores that, and later calls do nothing.
func (o *orphans) startGracesAndStoreIfAllOver() {
	if o.over.Load() {
		return
	}
	now := o.config.Clock.Now()
	names := o.config.Sources.Names()
	for _, name := range names {
		if o.config.Sources.Complete(name) {
			o.graces.startGraceOnce(name, now)
		}
	}
	if until, heard := o.graces.latestGraceEnd(names); heard && !now.Before(until) {
		o.over.Store(true)
	}
}

// possibleOrAllSources returns the sources that a running pod may belong to: those that its sandboxes name. If they
// name no source of this node, it returns all sources.
func (o *orphans) possibleOrAllSources(pod *runtime.Pod) []string {
	names := o.config.Sources.Names()
	owners := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFromSource(pod, name) })
	if len(owners) == 0 {
		return names
	}
	return owners
}

// maySourceStillNamePod reports whether a source may still name a running pod that an earlier process of the
// agent started. It returns false if the UID had a worker of this process. It also returns false if the orphan
// grace (the time in which sources may deliver their pods) of all its possible sources is over.
func (o *orphans) maySourceStillNamePod(pod *runtime.Pod) bool {
	if o.over.Load() || o.readRecord(pod.UID).hadWorker {
		return false
	}
	until, heard := o.graces.latestGraceEnd(o.possibleOrAllSources(pod))
	return !heard || o.config.Clock.Now().Before(until)
}

// deferKillIfInGrace returns true if the kill of an undesired pod must wait, because a source may still name it
// and it blocks no other pod. When the end of that wait is first known, it stores the end, updates the pod's
// allocation, records a warning event and logs it.
func (o *orphans) deferKillIfInGrace(pod *runtime.Pod) (deferred bool) {
	_, desired := o.config.Manager.GetPodByUID(pod.UID)
	if desired || !o.maySourceStillNamePod(pod) || o.blocksOtherPod(pod) {
		return false
	}
	until, heard := o.graces.latestGraceEnd(o.possibleOrAllSources(pod))
	if !o.readRecord(pod.UID).orphanGraceEnd.IsZero() || !heard {
		return true
	}
	o.setOrphanGraceEnd(pod.UID, until)
	o.updatePodAllocation(pod.UID)
	message := "no source has named this pod of an earlier agent; the pod is killed at " + until.UTC().Format(time.RFC3339) +
		" unless a source names it, or earlier if another pod needs its name or a host port"
	o.config.Recorder.Event(podFromRuntime(pod), v1.EventTypeWarning, ReasonNotDesired, message)
	o.config.Log.Info("deferring the kill of a pod that no source has named", "pod", pod.Name, "namespace", pod.Namespace, "uid", pod.UID, "until", until)
	return true
}

// killBlockingOrphansAndRequestHousekeepingIfDue kills each orphan that blocks another pod. An orphan is a
// running pod that an earlier process of the agent started and no source has named, and whose kill waits. If
// the wait of another orphan has ended, it requests housekeeping. It returns the earliest end of a wait; timed
// is false if no orphan waits. After the orphan grace of all sources it does nothing.
func (o *orphans) killBlockingOrphansAndRequestHousekeepingIfDue() (next time.Time, timed bool) {
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
	if until, heard := o.graces.latestGraceEnd(o.config.Sources.Names()); heard {
		next, timed = earlierTime(next, timed, until, now.Before(until))
		if !now.Before(until) {
			o.over.Store(true)
			o.requestHousekeeping()
		}
	}
	return next, timed
}

// earlierTime returns the earlier of two times. It ignores a time whose flag is false, and returns false if
// both flags are false.
func earlierTime(a time.Time, aTimed bool, b time.Time, bTimed bool) (earlier time.Time, timed bool) {
	if !bTimed || aTimed && a.Before(b) {
		return a, aTimed
	}
	return b, true
}

// deferredOrphans returns the sorted UIDs of the running pods without a source whose kill is deferred.
func (o *orphans) deferredOrphans() []types.UID {
	if o.deferredKills == 0 {
		return nil
	}
	return o.uidsWhere(func(r *record) bool { return !r.orphanGraceEnd.IsZero() })
}

// blocksOtherPod reports whether a pod that only the runtime has must be killed at once: an admitted or waiting
// pod needs its full name or a host port, or the node is Closed and terminates all pods.
func (o *orphans) blocksOtherPod(pod *runtime.Pod) bool {
	orphan := o.allocationPodOfOrphan(pod)
	return o.config.Closed() || o.table.ConflictsWith(&orphan)
}

// killBlockingOrphans kills each orphan whose kill is deferred, which still runs and which blocks another pod
// or runs on a Closed node.
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
