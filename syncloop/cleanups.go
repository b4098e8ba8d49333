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
	generation := h.config.Workers.Generation()
	running := h.config.Runtime.Pods()
	h.look(running)
	pods, mirrors, _ := h.config.Manager.GetPodsAndMirrorPods()
	all := h.config.Sources.AllSeen()
	known := h.config.Workers.SyncKnownPods(podworkers.KnownPods{
		Desired:       pods,
		Generation:    generation,
		Authoritative: h.config.Sources.Complete,
		Removed:       h.uidsOf(func(r *record) bool { return r.removed }),
		AllSources:    all,
	})
	h.eachRecord(func(uid types.UID, r *record) {
		_, worked := known[uid]
		r.removed = r.removed && worked
	})
	if all {
		h.dropStatuses(pods, mirrors, known)
	}
	h.restartMissing(pods, known)
	h.adoptWaiting(running)
	h.finishDeleted(pods, known, running)
	h.killOrphans(running)
	h.endOutOfLine(running, generation)
	h.forgetWorked(running)
	if all {
		h.discard(running)
	}
	h.placeAll(pods)
	h.unassumeKnown()
	h.table.RecheckFaults()
	if h.table.Due() || !h.OrphanGraceOver() { // Its end is a time for the loop to wake at.
		h.wake()
	}
	return nil
}

// dropStatuses forgets the statuses of pods that are neither wanted nor worked
// on. A pod that is on its way out keeps its own: what comes after it must not
// contradict what came before.
func (h *Handlers) dropStatuses(pods, mirrors []*v1.Pod, known map[types.UID]podworkers.PodWorkerSync) {
	keep := make(map[types.UID]bool, len(pods)+len(mirrors)+len(known))
	for uid := range known {
		keep[uid] = true
	}
	for _, list := range [][]*v1.Pod{pods, mirrors} {
		for _, pod := range list {
			keep[pod.UID] = true
		}
	}
	h.config.Status.RemoveOrphanedStatuses(keep)
	h.eachRecord(func(uid types.UID, r *record) { r.departed = r.departed && keep[uid] })
}

// restartMissing gives a worker to every pod that should have one (B-130).
func (h *Handlers) restartMissing(pods []*v1.Pod, known map[types.UID]podworkers.PodWorkerSync) {
	running := h.running()
	for _, pod := range pods {
		if _, ok := known[pod.UID]; ok || h.known(pod.UID).repeat || !h.active(pod) || mustAdmit(pod) && h.closed(pod, running) {
			continue
		}
		h.start(pod)
	}
}

// finishDeleted kills pods that are deleted, terminal and without a worker, so
// that even a rejected pod can come to its end (B-131, HC-8).
func (h *Handlers) finishDeleted(pods []*v1.Pod, known map[types.UID]podworkers.PodWorkerSync, running []runtime.Pod) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil || !h.terminal(pod) {
			continue
		}
		if _, ok := known[pod.UID]; ok || runs(running, pod.UID) {
			continue
		}
		h.update(podworkers.SyncPodKill, pod, nil)
	}
}

// killOrphans ends what runs without a worker and without a right to one
// (B-132, HC-9), unless it may only be late.
func (h *Handlers) killOrphans(running []runtime.Pod) {
	for i := range running {
		if pod := &running[i]; pod.MayRun() && h.orphaned(pod) && !h.leave(pod) {
			h.killOrphan(pod)
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
	h.place(orphan.UID)
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
func (h *Handlers) discard(pods []runtime.Pod) {
	var gone []types.UID
	for i := range pods {
		pod := &pods[i]
		if !pod.MayRun() && h.config.Workers.View(pod.UID).ShouldPodContentBeRemoved() && h.unwanted(pod) && !h.late(pod) {
			gone = append(gone, pod.UID)
		}
	}
	if len(gone) > 0 {
		h.config.Discard(gone)
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
