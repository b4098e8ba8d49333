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
	h.recordCompleteSources()
	c := &cleanup{Handlers: h, generation: h.config.Workers.Generation(), running: h.config.Runtime.Pods()}
	h.observeRuntimePods(c.running)
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
	c.startRunningWaitingPods()
	c.finishDeletedPods()
	c.killOrphans()
	c.killStaticPodsWithoutName()
	c.clearHadWorker()
	if all {
		c.discardRemovedPods()
	}
	c.observeAllPods()
	h.unassumeKnown()
	h.table.RecheckFaults()
	if h.table.NeedsReview() || !h.OrphanGraceOver() { // The loop has to wake at the end of the orphan grace.
		h.wake()
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

// removeOrphanedStatuses removes the statuses of pods that are not desired and have no worker. A terminating
// pod keeps its status, because its later statuses must not contradict it.
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

// startMissingWorkers gives a worker to every active pod without one (B-130).
func (c *cleanup) startMissingWorkers() {
	running := c.runningPods()
	for _, pod := range c.pods {
		if _, ok := c.workers[pod.UID]; ok || c.readRecord(pod.UID).retryChange || !c.isActive(pod) || !skipsAdmission(pod) && c.handleIfClosed(pod, running) {
			continue
		}
		c.startWorker(pod)
	}
}

// finishDeletedPods kills deleted pods with a terminal status and without a worker, so that even a rejected
// pod can finish (B-131, HC-8).
func (c *cleanup) finishDeletedPods() {
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil || !c.isTerminal(pod) {
			continue
		}
		if _, ok := c.workers[pod.UID]; ok || isRunning(c.running, pod.UID) {
			continue
		}
		c.updateWorker(podworkers.SyncPodKill, pod, nil)
	}
}

// killOrphans kills the running orphans (B-132, HC-9), except those in their orphan grace.
func (c *cleanup) killOrphans() {
	for i := range c.running {
		if pod := &c.running[i]; pod.MayRun() && c.isOrphan(pod) && !c.deferKill(pod) {
			c.killOrphan(pod)
		}
	}
}

// isOrphan reports whether a pod has no worker and should not run. A desired pod should not run if it was
// rejected or has terminated. A pod that is not desired should not run if its sources are complete, or if
// another static pod has its full name.
func (o *orphans) isOrphan(pod *runtime.Pod) bool {
	if o.config.Workers.View(pod.UID).Known {
		return false
	}
	if desired, ok := o.config.Manager.GetPodByUID(pod.UID); ok {
		return !o.isActive(desired)
	}
	return o.isUndesired(pod) || o.hasLostFullName(pod)
}

// killOrphan makes the workers kill a pod that only the runtime has, with a grace period of one second.
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
	o.observePod(orphan.UID)
	if err != nil {
		o.config.Log.Error("cannot kill an orphaned pod", "pod", orphan.Name, "uid", orphan.UID, "err", err)
		return
	}
	o.config.Log.Info("killing a pod that is not desired", "pod", orphan.Name, "namespace", orphan.Namespace, "uid", orphan.UID)
}

// isUndesired reports whether a pod is not desired and all sources that it may belong to are complete.
func (o *orphans) isUndesired(pod *runtime.Pod) bool {
	if _, desired := o.config.Manager.GetPodByUID(pod.UID); desired {
		return false
	}
	return !slices.ContainsFunc(o.possibleSources(pod), func(name string) bool { return !o.config.Sources.Complete(name) })
}

// isFromSource reports whether the annotation of a sandbox of the pod names the source.
func isFromSource(pod *runtime.Pod, source string) bool {
	return slices.ContainsFunc(pod.Sandboxes, func(s runtime.Sandbox) bool {
		return s.Annotations[podmanager.ConfigSourceAnnotation] == source
	})
}

// discardRemovedPods calls Discard with the pods whose records and files are no longer needed. The remover
// checks each pod again before it removes anything. While the manifest of a pod may be late its records stay:
// they prove that the pod has run, so that it does not run again.
func (c *cleanup) discardRemovedPods() {
	var gone []types.UID
	for i := range c.running {
		pod := &c.running[i]
		if !pod.MayRun() && c.config.Workers.View(pod.UID).ShouldPodContentBeRemoved() && c.isUndesired(pod) && !c.mayHaveLateManifest(pod) {
			gone = append(gone, pod.UID)
		}
	}
	if len(gone) > 0 {
		c.config.Discard(gone)
	}
}

// isRunning reports whether the pod with the UID may run according to the runtime.
func isRunning(pods []runtime.Pod, uid types.UID) bool {
	for i := range pods {
		if pods[i].UID == uid {
			return pods[i].MayRun()
		}
	}
	return false
}
