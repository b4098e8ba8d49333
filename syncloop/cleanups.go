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

// orphanTermination is what a pod gets that nobody knows but the runtime, in seconds
// (B-132, HC-9).
const orphanTermination = 1

// HandlePodCleanups implements SyncHandler. The order is the kubelet's:
// restarts before orphans, or a re-used UID would be taken for an
// orphan. It decides on what is known now and performs no IO: what runs
// was gathered by the PLEG, and what must go is handed to Discard.
func (h *Handlers) HandlePodCleanups(context.Context) error {
	defer h.updateUsage()
	h.repeat()
	h.hear()
	c := &cleanup{Handlers: h, generation: h.config.Workers.Generation(), running: h.config.Runtime.Pods()}
	h.observeRuntime(c.running)
	c.pods, c.mirrors, _ = h.config.Manager.GetPodsAndMirrorPods()
	all := h.config.Sources.AllSeen()
	c.workers = h.config.Workers.SyncKnownPods(podworkers.KnownPods{
		Desired:       c.pods,
		Generation:    c.generation,
		Authoritative: h.config.Sources.Complete,
		Removed:       h.uidsOf(func(r *record) bool { return r.removed }),
		AllSources:    all,
	})
	h.eachRecord(func(uid types.UID, r *record) {
		_, worked := c.workers[uid]
		r.removed = r.removed && worked
	})
	if all {
		c.dropStatuses()
	}
	c.restartMissing()
	c.adoptWaiting()
	c.finishDeleted()
	c.killOrphans()
	c.endOutOfLine()
	c.forgetWorked()
	if all {
		c.discard()
	}
	c.observeAll()
	h.unassumeKnown()
	h.table.RecheckFaults()
	if h.table.Due() || !h.OrphanGraceOver() { // Its end is a time for the loop to wake at.
		h.wake()
	}
	return nil
}

// cleanup is one housekeeping, with what it compares.
type cleanup struct {
	*Handlers
	pods, mirrors []*v1.Pod                              // which are desired
	workers       map[types.UID]podworkers.PodWorkerSync // what is worked on
	generation    uint64                                 // of the workers, at the beginning
	running       []runtime.Pod                          // what runs
}

// dropStatuses forgets the statuses of pods that are neither wanted nor worked
// on. A pod that is on its way out keeps its own: what comes after it must not
// contradict what came before.
func (c *cleanup) dropStatuses() {
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
	c.eachRecord(func(uid types.UID, r *record) { r.departed = r.departed && keep[uid] })
}

// restartMissing gives a worker to every pod that should have one (B-130).
func (c *cleanup) restartMissing() {
	running := c.nowRunning()
	for _, pod := range c.pods {
		if _, ok := c.workers[pod.UID]; ok || c.known(pod.UID).repeat || !c.active(pod) || mustAdmit(pod) && c.closed(pod, running) {
			continue
		}
		c.start(pod)
	}
}

// finishDeleted kills pods that are deleted, terminal and without a worker, so
// that even a rejected pod can come to its end (B-131, HC-8).
func (c *cleanup) finishDeleted() {
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil || !c.terminal(pod) {
			continue
		}
		if _, ok := c.workers[pod.UID]; ok || runs(c.running, pod.UID) {
			continue
		}
		c.update(podworkers.SyncPodKill, pod, nil)
	}
}

// killOrphans ends what runs without a worker and without a right to one
// (B-132, HC-9), unless it may only be late.
func (c *cleanup) killOrphans() {
	for i := range c.running {
		if pod := &c.running[i]; pod.MayRun() && c.orphaned(pod) && !c.leave(pod) {
			c.killOrphan(pod)
		}
	}
}

// orphaned: no worker sees to the pod, and it should not run. Of a pod that is
// wanted we know ourselves whether it should: not if it was rejected, or is
// over. Of any other the source it came from must say.
func (h *Handlers) orphaned(pod *runtime.Pod) bool {
	if h.config.Workers.View(pod.UID).Known {
		return false
	}
	if wanted, ok := h.config.Manager.GetPodByUID(pod.UID); ok {
		return !h.active(wanted)
	}
	return h.unwanted(pod) || h.displaced(pod)
}

func (h *Handlers) killOrphan(orphan *runtime.Pod) {
	grace := int64(orphanTermination)
	err := h.config.Workers.UpdatePod(podworkers.UpdatePodOptions{
		UpdateType:     podworkers.SyncPodKill,
		RunningPod:     orphan,
		KillPodOptions: &podworkers.KillPodOptions{PodTerminationGracePeriodSecondsOverride: &grace},
	})
	if errors.Is(err, podworkers.ErrStopped) {
		return
	}
	h.setAlone(orphan.UID, time.Time{})
	h.record(orphan.UID).worked = true // What is left of it now is this agent's.
	h.observe(orphan.UID)
	if err != nil {
		h.config.Log.Error("an orphaned pod could not be ended", "pod", orphan.Name, "uid", orphan.UID, "err", err)
		return
	}
	h.config.Log.Info("ending a pod that is not desired", "pod", orphan.Name, "namespace", orphan.Namespace, "uid", orphan.UID)
}

// unwanted: the pod is not desired, and those who could desire it are complete:
// the sources recorded on its sandboxes. If it names none, or none that the
// node has, it may be anybody's.
func (h *Handlers) unwanted(pod *runtime.Pod) bool {
	if _, wanted := h.config.Manager.GetPodByUID(pod.UID); wanted {
		return false
	}
	return !slices.ContainsFunc(h.owners(pod), func(name string) bool { return !h.config.Sources.Complete(name) })
}

func cameFrom(pod *runtime.Pod, source string) bool {
	return slices.ContainsFunc(pod.Sandboxes, func(s runtime.Sandbox) bool {
		return s.Annotations[podmanager.ConfigSourceAnnotation] == source
	})
}

// discard hands over the pods whose content is of no use any more. Whoever
// removes it asks again, at that moment, whether that is still so. What a pod
// leaves behind tells that it has run, and keeps it from running twice: it
// stays as long as its source may only have failed to mention it.
func (c *cleanup) discard() {
	var gone []types.UID
	for i := range c.running {
		pod := &c.running[i]
		if !pod.MayRun() && c.config.Workers.View(pod.UID).ShouldPodContentBeRemoved() && c.unwanted(pod) && !c.late(pod) {
			gone = append(gone, pod.UID)
		}
	}
	if len(gone) > 0 {
		c.config.Discard(gone)
	}
}

func runs(pods []runtime.Pod, uid types.UID) bool {
	for i := range pods {
		if pods[i].UID == uid {
			return pods[i].MayRun()
		}
	}
	return false
}
