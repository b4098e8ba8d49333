package syncloop

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// An earlier agent has started the pods that run when this agent starts. They get their workers before new
// pods are admitted.

// runsWithoutWorker reports whether a pod is in running and has no worker. An earlier agent has started and
// admitted it. It is not admitted again, because a restart of the agent must not terminate running pods (I35,
// I42).
func (v nodeView) runsWithoutWorker(pod *v1.Pod, running map[types.UID]bool) bool {
	return running[pod.UID] && !v.config.Workers.View(pod.UID).Known
}

// podsOfEarlierAgent returns the UIDs that the runtime has records of and that had no worker of this process.
func (s *podStates) podsOfEarlierAgent() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range s.config.Runtime.Pods() {
		if !s.readRecord(pod.UID).hadWorker && !s.config.Workers.View(pod.UID).Known {
			uids[pod.UID] = true
		}
	}
	return uids
}

// clearHadWorker clears hadWorker for each UID without a worker and without a record in the runtime. No record
// is left that could be mistaken for a record of an earlier agent.
func (c *cleanup) clearHadWorker() {
	shown := make(map[types.UID]bool, len(c.running))
	for i := range c.running {
		shown[c.running[i].UID] = true
	}
	c.updateEachRecord(func(uid types.UID, r *record) {
		r.hadWorker = r.hadWorker && (shown[uid] || c.config.Workers.View(uid).Known)
	})
}

// runningPods returns the UIDs of the pods that may run according to the runtime.
func (v nodeView) runningPods() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range v.config.Runtime.Pods() {
		if pod.MayRun() {
			uids[pod.UID] = true
		}
	}
	return uids
}

// sortAdditions returns the pods in the order of their addition (SL-15): first the running pods of an earlier
// agent, then the highest priority if waiting pods are ordered by priority, then the oldest.
func (v nodeView) sortAdditions(pods []*v1.Pod, running map[types.UID]bool) []*v1.Pod {
	return slices.SortedStableFunc(slices.Values(pods), func(a, b *v1.Pod) int {
		if x, y := v.runsWithoutWorker(a, running), v.runsWithoutWorker(b, running); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(v.config.waitRank(b), v.config.waitRank(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
}

// isNameInUse reports whether a static pod without a worker has to wait for its full name, because another pod
// with the name may run that the workers do not queue by name: a pod of an earlier agent, or a pod that only
// the runtime has. Until the runtime has been listed, every name may be in use. Housekeeping checks again
// after each change of the runtime (I11).
func (v nodeView) isNameInUse(pod *v1.Pod) bool {
	if !podmanager.IsStaticPod(pod) || v.config.Workers.View(pod.UID).Known {
		return false
	}
	if seen, _ := v.config.Runtime.Healthy(); !seen {
		return true
	}
	pods := v.config.Runtime.Pods()
	for i := range pods {
		if p := &pods[i]; p.Name == pod.Name && p.Namespace == pod.Namespace && p.UID != pod.UID && v.runsWithoutFullName(p) {
			return true
		}
	}
	return false
}

// runsWithoutFullName reports whether a pod runs and no worker holds its full name: it has no worker, its
// worker has no spec of it, or its worker was terminated before it had started anything.
func (v nodeView) runsWithoutFullName(pod *runtime.Pod) bool {
	view := v.config.Workers.View(pod.UID)
	return pod.MayRun() && !(view.HasConfig && !view.IsPodKnownTerminated())
}

// hasLostFullName reports whether another static pod of the same source has the full name of a running pod and
// has started. The source names the other pod, so it does not desire the running one, even if it could not
// read all its files. This happens if the runtime did not list the running pod when the other pod was admitted
// (F60). Both must not run (I11).
func (v nodeView) hasLostFullName(pod *runtime.Pod) bool {
	other, ok := v.config.Manager.GetPodByFullName(pod.Name + "_" + pod.Namespace)
	if !ok || other.UID == pod.UID || !podmanager.IsStaticPod(other) || !isFromSource(pod, other.Annotations[podmanager.ConfigSourceAnnotation]) {
		return false
	}
	return v.config.Workers.View(other.UID).HasConfig
}

// killStaticPodsWithoutName kills running static pods whose full name another pod holds. An earlier agent has
// started them, and the runtime did not list them when the other pod got the name (F60, I11). They are
// desired, so they start again when the name is free.
func (c *cleanup) killStaticPodsWithoutName() {
	for i := range c.running {
		p := &c.running[i]
		view := c.config.Workers.View(p.UID)
		wanted, ok := c.config.Manager.GetPodByUID(p.UID)
		if !ok || !p.MayRun() || !view.AwaitsFullName || view.Incarnation > 1 || view.IsPodTerminationRequested() {
			continue
		}
		err := c.config.Workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodKill, RunningPod: p, Generation: c.generation})
		if err != nil {
			return // The workers have stopped.
		}
		c.observePod(p.UID)
		c.config.Log.Info("killing a running static pod because another pod has its full name; it starts again after that pod", "pod", podmanager.FullName(wanted), "uid", p.UID)
		mirror, _ := c.config.Manager.GetMirrorPodByPod(wanted)
		c.updateWorker(podworkers.SyncPodCreate, wanted, mirror)
	}
}

// rejectedByShutdown is the refusal of a node that is Closed.
var rejectedByShutdown = Refused(allocation.Reason{Kind: allocation.KindDraining, Reason: "NodeShutdown", Message: "the node takes no new pods"})

// handleIfClosed handles a pod if the node is Closed, and reports whether it is. A running pod of an earlier
// agent gets a worker that terminates it within its own grace period. Any other pod is rejected, even if it
// was admitted before.
func (h *Handlers) handleIfClosed(pod *v1.Pod, running map[types.UID]bool) bool {
	if !h.config.Closed() {
		return false
	}
	if !h.runsWithoutWorker(pod, running) {
		h.rejectPod(pod, rejectedByShutdown)
		return true
	}
	h.updateWorker(podworkers.SyncPodCreate, pod, nil)
	h.sendToWorker(podworkers.UpdatePodOptions{
		UpdateType: podworkers.SyncPodKill, Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: NodeShutdown()},
	})
	return true
}
