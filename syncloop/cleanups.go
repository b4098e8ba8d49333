package syncloop

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
)

// orphanTermination is the grace period in seconds of a pod that only the runtime has (B-132, HC-9).
const orphanTermination = 1

// HandlePodCleanups implements SyncHandler. It starts missing workers before it kills orphans, as the kubelet
// does. In the other order it would kill a desired pod with a reused UID as an orphan. It performs no IO: the
// PLEG has listed the running pods, and Discard removes unneeded records and files.
func (h *Handlers) HandlePodCleanups(context.Context) error {
	defer h.updateUsage()
	h.retryPanickedPods()
	h.startGracesAndStoreIfAllOver()
	c := &cleanup{Handlers: h, generation: h.config.Workers.Generation(), running: h.config.Runtime.Pods()}
	h.updateAllocationsFromRuntime(c.running)
	c.pods, c.mirrors, _ = h.config.Manager.GetPodsAndMirrorPods()
	all := h.config.Sources.AllSeen()
	c.workers = h.config.Workers.SyncKnownPods(podworkers.KnownPods{
		Desired:       c.pods,
		Generation:    c.generation,
		Authoritative: h.config.Sources.Complete,
		Removed:       h.uidsWhere(func(r *record) bool { return r.removedBySource }),
		AllSources:    all,
	})
	h.updateEachRecord(func(uid types.UID, r *record) {
		_, worked := c.workers[uid]
		r.removedBySource = r.removedBySource && worked
	})
	if all {
		c.removeOrphanedStatuses()
	}
	c.startMissingWorkers()
	c.startWorkersOfRunningWaitingPods()
	c.killDeletedTerminalPods()
	c.killOrphansUnlessDeferred()
	c.killAndReaddStaticPodsWithoutName()
	c.clearStaleHadWorker()
	if all {
		c.discardStoppedUndesiredPods()
	}
	c.updateAllAllocationsAndDropSpecs()
	h.markDesiredAssumedPodsChanged()
	h.retryPanickedResizes()
	h.table.RecheckFaults()
	if h.table.NeedsReview() || !h.OrphanGraceOver() { // The loop has to wake at the end of the orphan grace.
		h.wake()
	}
	if !h.workersAreReported.Load() && c.waitsForWorker() {
		h.requestHousekeeping()
	}
	return nil
}

// cleanup is one run of housekeeping.
type cleanup struct {
	*Handlers
	pods, mirrors []*v1.Pod                              // desired
	workers       map[types.UID]podworkers.PodWorkerSync // the pods with a worker
	generation    uint64                                 // of the workers, read before everything else
	running       []runtime.Pod                          // from the last listing of the runtime
}

// waitsForWorker reports whether a pod that is not desired still has a worker, or a pod waits for another pod to
// terminate. The end of the worker needs another housekeeping.
func (c *cleanup) waitsForWorker() bool {
	desired := 0
	for _, pod := range c.pods {
		if _, ok := c.workers[pod.UID]; ok {
			desired++
		}
	}
	return desired < len(c.workers) || len(c.table.WaitingUIDs()) > 0
}

// removeOrphanedStatuses removes the stored status of each UID that has neither a desired pod or mirror pod nor
// a worker. For such a UID it also clears the flag that the stored status is the rejection of a removed pod.
func (c *cleanup) removeOrphanedStatuses() {
	keep := make(map[types.UID]bool, len(c.pods)+len(c.mirrors)+len(c.workers))
	for uid := range c.workers {
		keep[uid] = true
	}
	for _, list := range [][]*v1.Pod{c.pods, c.mirrors} {
		for _, pod := range list {
			keep[pod.UID] = true
		}
	}
	c.config.Status.RemoveOrphanedStatuses(keep)
	c.updateEachRecord(func(uid types.UID, r *record) { r.hasStaleRejection = r.hasStaleRejection && keep[uid] })
}

// startMissingWorkers starts a worker for each desired pod that has none, unless the pod was rejected, waits
// for admission, has a terminal status, or is to be added again after a panic. If the node is Closed (it drains
// or shuts down), a pod that is not deleted is rejected or terminated instead (B-130).
func (c *cleanup) startMissingWorkers() {
	running := c.runningPodUIDs()
	for _, pod := range c.pods {
		if _, ok := c.workers[pod.UID]; ok || c.readRecord(pod.UID).retryChange || !c.isActiveNotRejectedOrWaiting(pod) || !skipsAdmission(pod) && c.rejectOrTerminateIfClosed(pod, running) {
			continue
		}
		c.startWorker(pod)
	}
}

// killDeletedTerminalPods sends a kill to the workers for each deleted pod that has a terminal status, no
// worker and no running container. The worker then finishes the pod, and a rejected pod can be removed from the
// API server (B-131, HC-8).
func (c *cleanup) killDeletedTerminalPods() {
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil || !c.hasTerminalPhase(pod) {
			continue
		}
		if _, ok := c.workers[pod.UID]; ok || isRunning(c.running, pod.UID) {
			continue
		}
		c.updateWorker(podworkers.SyncPodKill, pod, nil)
	}
}

// killOrphansUnlessDeferred kills each orphan: a pod that may run in the runtime, has no worker and should not
// run. It defers the kill while a source may still name a pod that an earlier process of the agent started. It
// does not defer the kill of a pod whose name or host port a desired pod needs. (B-132, HC-9)
func (c *cleanup) killOrphansUnlessDeferred() {
	for i := range c.running {
		if pod := &c.running[i]; pod.MayRun() && c.isOrphan(pod) && !c.deferKillIfInGrace(pod) {
			c.killOrphan(pod)
		}
	}
}

// isOrphan reports whether a pod of the runtime has no worker and should not run. A desired pod should not run
// if it was rejected, waits for admission, or has a terminal status. Another pod should not run if all its
// possible sources have delivered their pods without it. It should also not run if another static pod has its
// full name.
func (o *orphans) isOrphan(pod *runtime.Pod) bool {
	if o.config.Workers.View(pod.UID).Known {
		return false
	}
	if desired, ok := o.config.Manager.GetPodByUID(pod.UID); ok {
		return !o.isActiveNotRejectedOrWaiting(desired)
	}
	return o.isCertainlyUndesired(pod) || o.otherStaticPodHasFullName(pod)
}

// killOrphan makes the workers kill a pod that has no worker, with a grace period of orphanTermination seconds.
// It clears a deferral of the kill, stores that the UID has had a worker of this process, updates the pod's
// allocation, and logs the kill.
func (o *orphans) killOrphan(orphan *runtime.Pod) {
	grace := int64(orphanTermination)
	err := o.config.Workers.UpdatePod(podworkers.UpdatePodOptions{
		UpdateType:     podworkers.SyncPodKill,
		RunningPod:     orphan,
		KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: &grace},
	})
	if errors.Is(err, podworkers.ErrStopped) {
		return
	}
	o.setOrphanGraceEnd(orphan.UID, time.Time{})
	o.ensureRecord(orphan.UID).hadWorker = true // From now on its records belong to this agent.
	o.updatePodAllocation(orphan.UID)
	if err != nil {
		o.config.Log.Error("cannot kill an orphaned pod", "pod", orphan.Name, "uid", orphan.UID, "err", err)
		return
	}
	o.config.Log.Info("killing a pod that is not desired", "pod", orphan.Name, "namespace", orphan.Namespace, "uid", orphan.UID)
}

// isCertainlyUndesired reports whether a pod is not desired and every source that it may belong to has
// delivered its first complete list.
func (o *orphans) isCertainlyUndesired(pod *runtime.Pod) bool {
	if _, desired := o.config.Manager.GetPodByUID(pod.UID); desired {
		return false
	}
	return !slices.ContainsFunc(o.possibleOrAllSources(pod), func(name string) bool { return !o.config.Sources.Complete(name) })
}

// isFromSource reports whether the source annotation of one of the pod's sandboxes names the source.
func isFromSource(pod *runtime.Pod, source string) bool {
	return slices.ContainsFunc(pod.Sandboxes, func(s runtime.Sandbox) bool {
		return s.Annotations[podmanager.ConfigSourceAnnotation] == source
	})
}

// discardStoppedUndesiredPods calls the host program's Discard with the pods that have stopped, that no source
// desires, and whose worker, if any, allows the removal. It leaves out a pod of an earlier agent while a source
// may still name it. It does not call Discard without pods.
func (c *cleanup) discardStoppedUndesiredPods() {
	var gone []types.UID
	for i := range c.running {
		pod := &c.running[i]
		if !pod.MayRun() && c.config.Workers.View(pod.UID).ShouldPodContentBeRemoved() && c.isCertainlyUndesired(pod) && !c.maySourceStillNamePod(pod) {
			gone = append(gone, pod.UID)
		}
	}
	if len(gone) > 0 {
		c.config.Discard(gone)
	}
}

// isRunning reports whether pods has a pod with the UID that may run.
func isRunning(pods []runtime.Pod, uid types.UID) bool {
	p := findPod(pods, uid)
	return p != nil && p.MayRun()
}

// findPod returns the pod with a UID in a listing, or nil.
func findPod(pods []runtime.Pod, uid types.UID) *runtime.Pod {
	for i := range pods {
		if pods[i].UID == uid {
			return &pods[i]
		}
	}
	return nil
}
