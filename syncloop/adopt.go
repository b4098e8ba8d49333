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

// What runs when the agent starts was begun by an agent before it, which knew
// more about it than this one does yet. So it is adopted before anything new is
// considered.

// ranBefore: the pod runs, and no worker of this process has to do with it. It
// was admitted in its time and is not asked again: a restart of the agent must
// not end what it finds (I35, I42).
func (h *Handlers) ranBefore(pod *v1.Pod, running map[types.UID]bool) bool {
	return running[pod.UID] && !h.config.Workers.View(pod.UID).Known
}

// leftBehind lists the pods of which the runtime has records that no worker of
// this process has made: they ran under an agent before it.
func (h *Handlers) leftBehind() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range h.config.Runtime.Pods() {
		if !h.known(pod.UID).worked && !h.config.Workers.View(pod.UID).Known {
			uids[pod.UID] = true
		}
	}
	return uids
}

// forgetWorked drops the UIDs of which nothing is left that could be taken for
// another agent's work.
func (c *cleanup) forgetWorked() {
	shown := make(map[types.UID]bool, len(c.running))
	for i := range c.running {
		shown[c.running[i].UID] = true
	}
	c.eachRecord(func(uid types.UID, r *record) {
		r.worked = r.worked && (shown[uid] || c.config.Workers.View(uid).Known)
	})
}

// nowRunning lists what runs.
func (h *Handlers) nowRunning() map[types.UID]bool {
	uids := make(map[types.UID]bool)
	for _, pod := range h.config.Runtime.Pods() {
		if pod.MayRun() {
			uids[pod.UID] = true
		}
	}
	return uids
}

// inOrder puts what ran before first, then the oldest (SL-15): whoever has a
// place keeps it. Where pods wait for room those of the highest priority are before the
// oldest.
func (h *Handlers) inOrder(pods []*v1.Pod, running map[types.UID]bool) []*v1.Pod {
	return slices.SortedStableFunc(slices.Values(pods), func(a, b *v1.Pod) int {
		if x, y := h.ranBefore(a, running), h.ranBefore(b, running); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(h.config.rank(b), h.config.rank(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
}

// held: a static pod that has no worker yet must not get one, because its full
// name may be in use by a pod that the workers' line of that name does not
// have: one from before this process, or one that only the runtime knows. As
// long as the runtime has not been seen, every name may be. Housekeeping, which
// follows every change of the runtime, asks again (I11).
func (h *Handlers) held(pod *v1.Pod) bool {
	if !podmanager.IsStaticPod(pod) || h.config.Workers.View(pod.UID).Known {
		return false
	}
	if seen, _ := h.config.Runtime.Healthy(); !seen {
		return true
	}
	pods := h.config.Runtime.Pods()
	for i := range pods {
		if p := &pods[i]; p.Name == pod.Name && p.Namespace == pod.Namespace && p.UID != pod.UID && h.outOfLine(p) {
			return true
		}
	}
	return false
}

// outOfLine: the pod runs and is nobody's, or is being ended as nobody's, or was
// told to end before its worker, which so had nothing to stop, had begun.
func (h *Handlers) outOfLine(pod *runtime.Pod) bool {
	view := h.config.Workers.View(pod.UID)
	return pod.MayRun() && !(view.HasConfig && !view.IsPodKnownTerminated())
}

// displaced: the full name of a pod that runs belongs to another static pod by now,
// which has begun. Their source has named that one, so it does not want this one,
// whatever else it could not read. It comes to that if the runtime did not show the
// first when the second was let in (F60); there must not be both (I11).
func (h *Handlers) displaced(pod *runtime.Pod) bool {
	other, ok := h.config.Manager.GetPodByFullName(pod.Name + "_" + pod.Namespace)
	if !ok || other.UID == pod.UID || !podmanager.IsStaticPod(other) || !cameFrom(pod, other.Annotations[podmanager.ConfigSourceAnnotation]) {
		return false
	}
	return h.config.Workers.View(other.UID).HasConfig
}

// endOutOfLine ends static pods that run although they wait for their full name: an
// agent before this one began them, and the runtime did not show them when another
// was let in first (F60, I11). They are desired, so they go to the end of the line.
func (c *cleanup) endOutOfLine() {
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
		c.observe(p.UID)
		c.config.Log.Info("ending a static pod that runs while another one has its full name; it waits for that", "pod", podmanager.FullName(wanted), "uid", p.UID)
		mirror, _ := c.config.Manager.GetMirrorPodByPod(wanted)
		c.update(podworkers.SyncPodCreate, wanted, mirror)
	}
}

// shutdown is the refusal of a node that is Closed.
var shutdown = Refused(allocation.Reason{Kind: allocation.KindDraining, Reason: "NodeShutdown", Message: "the node takes no new pods"})

// closed: the node takes no pod any more. One that runs all the same, because it
// ran before, gets a worker that ends it, with its own grace; any other is
// refused, even if it was let in while the node was open.
func (h *Handlers) closed(pod *v1.Pod, running map[types.UID]bool) bool {
	if !h.config.Closed() {
		return false
	}
	if !h.ranBefore(pod, running) {
		h.reject(pod, shutdown)
		return true
	}
	h.update(podworkers.SyncPodCreate, pod, nil)
	h.send(podworkers.UpdatePodOptions{
		UpdateType: podworkers.SyncPodKill, Pod: pod, KillPodOptions: &podworkers.KillPodOptions{PodStatusFunc: NodeShutdown()},
	})
	return true
}
