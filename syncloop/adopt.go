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

// runsWithoutWorker reports whether the UID of a pod is in running and has no worker. An earlier process of the
// agent has then started the pod. Such a pod needs no admission, because a restart of the agent must not
// terminate running pods (I35, I42).
func (v nodeView) runsWithoutWorker(pod *v1.Pod, running map[types.UID]bool) bool {
	return running[pod.UID] && !v.config.Workers.View(pod.UID).Known
}

// podsOfEarlierAgent returns the UIDs of all pods in the listing of the runtime that have never had a worker in
// this process.
func (s *podStates) podsOfEarlierAgent() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range s.config.Runtime.Pods() {
		if !s.readRecord(pod.UID).hadWorker && !s.config.Workers.View(pod.UID).Known {
			uids[pod.UID] = true
		}
	}
	return uids
}

// clearStaleHadWorker clears the flag hadWorker of each UID that has no worker and is not in the runtime's
// listing. The flag says that the containers of the UID were started by this process and not by an earlier
// agent.
func (c *cleanup) clearStaleHadWorker() {
	shown := make(map[types.UID]bool, len(c.running))
	for i := range c.running {
		shown[c.running[i].UID] = true
	}
	c.updateEachRecord(func(uid types.UID, r *record) {
		r.hadWorker = r.hadWorker && (shown[uid] || c.config.Workers.View(uid).Known)
	})
}

// runningPodUIDs returns the UIDs of the pods that may run according to the newest listing of the runtime.
func (v nodeView) runningPodUIDs() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range v.config.Runtime.Pods() {
		if pod.MayRun() {
			uids[pod.UID] = true
		}
	}
	return uids
}

// sortAdditions returns the pods in the order in which they are added (SL-15). Pods that run without a worker
// come first, and then the pods for which startsAgain returns true; the others follow by priority if pods may wait on a
// full node, and then by age, the oldest first.
func (v nodeView) sortAdditions(pods []*v1.Pod, running map[types.UID]bool, startsAgain func(*v1.Pod) bool) []*v1.Pod {
	rank := func(pod *v1.Pod) int {
		switch {
		case v.runsWithoutWorker(pod, running):
			return 0
		case startsAgain(pod):
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(pods), func(a, b *v1.Pod) int {
		if by := cmp.Compare(rank(a), rank(b)); by != 0 {
			return by
		}
		return cmp.Or(cmp.Compare(v.config.waitRank(b), v.config.waitRank(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
}

// isStaticPodNameInUse reports whether a static pod without a worker must wait because another pod with its
// namespace and name may run and no worker holds that name (I11). Before the first listing of the runtime it
// returns true. It returns false for a pod that is not static or has a worker.
func (v nodeView) isStaticPodNameInUse(pod *v1.Pod) bool {
	if !podmanager.IsStaticPod(pod) || v.config.Workers.View(pod.UID).Known {
		return false
	}
	if seen, _ := v.config.Runtime.Healthy(); !seen {
		return true
	}
	pods := v.config.Runtime.Pods()
	for i := range pods {
		if p := &pods[i]; p.Name == pod.Name && p.Namespace == pod.Namespace && p.UID != pod.UID && v.runsWithoutHoldingFullName(p) {
			return true
		}
	}
	return false
}

// runsWithoutHoldingFullName reports whether a pod may run although no worker holds its full name: it has no
// worker, its worker has no spec of it, or its worker counts it as terminated.
func (v nodeView) runsWithoutHoldingFullName(pod *runtime.Pod) bool {
	view := v.config.Workers.View(pod.UID)
	return pod.MayRun() && !(view.HasConfig && !view.IsPodKnownTerminated())
}

// otherStaticPodHasFullName reports whether another static pod, from the same source and with a worker that has
// its spec, has the full name of a running pod. The running pod must then stop, because the source desires only
// one pod of a name (F60, I11).
func (v nodeView) otherStaticPodHasFullName(pod *runtime.Pod) bool {
	other, ok := v.config.Manager.GetPodByFullName(pod.Name + "_" + pod.Namespace)
	if !ok || other.UID == pod.UID || !podmanager.IsStaticPod(other) || !isFromSource(pod, other.Annotations[podmanager.ConfigSourceAnnotation]) {
		return false
	}
	return v.config.Workers.View(other.UID).HasConfig
}

// killAndReaddStaticPodsWithoutName kills each desired static pod that runs while its worker still waits for
// the full name, which another pod holds. It also sends the pod to its worker again, so that the pod starts
// when the name is free. This happens if the runtime did not list the pod when the other pod got the name (F60,
// I11). A worker that waits for the name has started nothing, so the containers are not its own.
func (c *cleanup) killAndReaddStaticPodsWithoutName() {
	for i := range c.running {
		wanted, ok := c.config.Manager.GetPodByUID(c.running[i].UID)
		if !ok || !c.running[i].MayRun() || !c.config.Workers.View(wanted.UID).AwaitsFullName {
			continue
		}
		// An earlier incarnation may have stopped its containers after c.running was listed.
		p := findPod(c.config.Runtime.Pods(), wanted.UID)
		if p == nil || !p.MayRun() {
			continue
		}
		err := c.config.Workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodKill, RunningPod: p, Generation: c.generation})
		if err != nil {
			return // The workers have stopped.
		}
		c.updatePodAllocation(p.UID)
		c.config.Log.Info("killing a running static pod because another pod has its full name; it starts again after that pod", "pod", podmanager.FullName(wanted), "uid", p.UID)
		mirror, _ := c.config.Manager.GetMirrorPodByPod(wanted)
		c.updateWorker(podworkers.SyncPodCreate, wanted, mirror)
	}
}

// rejectedByShutdown is the refusal of a node that is Closed.
var rejectedByShutdown = Refused(allocation.Reason{Kind: allocation.KindDraining, Reason: "NodeShutdown", Message: "the node takes no new pods"})

// rejectOrTerminateIfClosed rejects a pod if the node is Closed, that is, it drains or shuts down. A pod that
// already runs without a worker instead gets a worker that terminates it. If the node is not Closed, it does
// nothing and returns false.
func (h *Handlers) rejectOrTerminateIfClosed(pod *v1.Pod, running map[types.UID]bool) (closed bool) {
	if !h.config.Closed() {
		return false
	}
	if !h.runsWithoutWorker(pod, running) {
		h.recordAndPublishRejection(pod, rejectedByShutdown)
		return true
	}
	h.updateWorker(podworkers.SyncPodCreate, pod, nil)
	h.sendToWorkerAndUpdateAllocation(podworkers.UpdatePodOptions{
		UpdateType: podworkers.SyncPodKill, Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: NodeShutdown()},
	})
	return true
}
