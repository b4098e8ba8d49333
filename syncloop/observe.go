package syncloop

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// NotifyWorkerChange reports that the worker of a pod has changed: podworkers.Hooks.Phase and Forgotten call
// it. The loop then decides again about the pods that wait for this pod to terminate. If the worker has seen
// the pod stop, Fits and Allocated no longer count the pod, from this call on. If the worker has finished,
// housekeeping follows. NotifyWorkerChange never blocks, and any goroutine may call it.
func (h *Handlers) NotifyWorkerChange(uid types.UID) {
	h.workersAreReported.Store(true)
	h.changedWorkers.Add(uid, struct{}{})
	h.Scheduling.recordWorkerChangeForUsage(uid)
	if worker := h.config.Workers.View(uid); !worker.Known || worker.Stage == lifecycle.StageFinished {
		h.requestHousekeeping()
	}
}

// updateAllocationsOfChangedWorkers updates the allocation of each pod whose worker has reported a change since
// the last call.
func (h *Handlers) updateAllocationsOfChangedWorkers() {
	h.Scheduling.storeLastWorkerChange()
	h.changed = h.changedWorkers.TakeAll(h.changed[:0])
	for _, n := range h.changed {
		h.updatePodAllocation(n.UID)
	}
}

// updateAllocationsFromRuntime stores which pods may run according to the given listing of the runtime. It then
// updates the allocation of those without a worker, and of those that ran in the listing before and not in this
// one.
func (s *podStates) updateAllocationsFromRuntime(pods []runtime.Pod) {
	before := slices.DeleteFunc(s.shownUIDs, func(uid types.UID) bool { return s.readRecord(uid).shown == nil })
	for _, uid := range before {
		s.ensureRecord(uid).shown = nil
	}
	s.shownUIDs = make([]types.UID, 0, len(pods))
	for i := range pods {
		if p := &pods[i]; p.MayRun() {
			s.shownUIDs = append(s.shownUIDs, p.UID)
			r := s.ensureRecord(p.UID)
			if r.shown = p; r.lastSpec != nil {
				r.shown = shownWithoutDetails // The claims are known from lastSpec, so the list need not stay in memory.
			}
		}
	}
	for i := range pods {
		if uid := pods[i].UID; s.readRecord(uid).shown != nil && !s.config.Workers.View(uid).Known {
			s.updatePodAllocation(uid)
		}
	}
	for _, uid := range before {
		if s.readRecord(uid).shown == nil {
			s.updatePodAllocation(uid)
		}
	}
}

// updateAllAllocationsAndDropSpecs updates the allocation of every desired pod and of every UID in the
// allocation table, because a host program need not call NotifyWorkerChange. It also deletes the stored spec of
// each pod that is not desired and has no worker.
func (c *cleanup) updateAllAllocationsAndDropSpecs() {
	for _, pod := range c.pods {
		c.updatePodAllocation(pod.UID)
	}
	for _, uid := range c.table.UIDs() {
		c.updatePodAllocation(uid)
	}
	c.updateEachRecord(func(uid types.UID, r *record) {
		if _, wanted := c.config.Manager.GetPodByUID(uid); r.lastSpec != nil && !wanted && !c.config.Workers.View(uid).Known {
			r.lastSpec = nil
			c.table.ForgetIncarnation(uid)
		}
	})
}

// updatePodAllocation updates the resources, ports and name that the allocation table counts for a UID: for a
// pod that still terminates, and for an admitted pod. A pod that is neither is removed from the table. A pod
// that waits for admission stays as it is.
func (s *podStates) updatePodAllocation(uid types.UID) {
	view := s.config.Workers.View(uid)
	pod, wanted := s.config.Manager.GetPodByUID(uid)
	s.updateTermination(uid, view, pod)
	switch {
	case s.isWaitingInTable(uid):
	case wanted && s.isAdmittedAndNotTerminating(pod, view):
		if has, ok := s.table.StayingPod(uid); !ok || has.Pod != pod {
			s.table.SetStaying(toAllocationPod(s.chain.rules, pod))
		}
	default:
		s.table.Remove(uid)
	}
}

// isWaitingInTable reports whether the pod is Waiting in the allocation table.
func (s *podStates) isWaitingInTable(uid types.UID) bool {
	state, _ := s.table.State(uid)
	return state == allocation.Waiting
}

// isAdmittedAndNotTerminating reports whether a pod may run: addPods has admitted it, it has not stopped, and
// its worker does not terminate it. It returns false for a pod that was rejected or waits for admission. It
// also returns true for a UID whose worker terminates the earlier pod and then starts this pod.
func (s *podStates) isAdmittedAndNotTerminating(pod *v1.Pod, view lifecycle.View) bool {
	if s.readRecord(pod.UID).undecided || !s.isActiveNotRejectedOrWaiting(pod) {
		return false
	}
	return !view.IsPodTerminationRequested() || view.RestartRequested
}

// updateTermination updates what the allocation table counts for a terminating pod until its containers have
// stopped. It also stores or clears the entry that TerminatingPods returns. For a pod that does not terminate
// it clears the deferral of its kill as an orphan.
func (s *podStates) updateTermination(uid types.UID, view lifecycle.View, desired *v1.Pod) {
	r := s.readRecord(uid)
	now := allocation.Observed{
		Worker: allocation.Worker{
			HasWorker: view.Known, Incarnation: view.Incarnation, Started: view.Started, HasConfig: view.HasConfig,
			TerminationRequested: view.IsPodTerminationRequested(), Terminated: view.IsPodKnownTerminated(),
		},
		Seen: r.shown != nil, Given: r.lastSpec != nil,
		Active: r.shown != nil && !view.Known && desired != nil && s.isActiveNotRejectedOrWaiting(desired),
		Grace:  view.Grace.Or(lifecycle.Seconds(v1.DefaultTerminationGracePeriodSeconds)).Duration(), OrphanGraceEnd: r.orphanGraceEnd,
	}
	e, progress := s.table.Observe(uid, now, s.config.Clock.Now(), func(from allocation.ClaimsFrom) allocation.Pod { return s.allocationPodOfTerminating(uid, from) })
	if progress == allocation.StillTerminating {
		s.shared.updateEntry(uid, func(p *sharedPod) {
			p.terminating = &TerminatingPod{Pod: e.Pod.Pod, Since: e.Since, Until: e.Until, RuntimeOnly: e.Pod.RuntimeOnly, KillAt: now.OrphanGraceEnd}
		})
		return
	}
	if progress == allocation.HasTerminated {
		s.ensureRecord(uid).shown = nil
	}
	if !r.orphanGraceEnd.IsZero() {
		s.setOrphanGraceEnd(uid, time.Time{})
	}
	if previous := s.shared.copyOfEntryOrZero(uid).terminating; previous != nil {
		s.shared.updateEntry(uid, func(p *sharedPod) { p.terminating = nil })
	}
}

// allocationPodOfTerminating converts a terminating pod to the form in which the allocation table stores pods.
// from says where its requests come from: the last spec of its worker, its sandbox annotation, or nowhere. A
// pod without either counts as one pod without requests.
func (s *podStates) allocationPodOfTerminating(uid types.UID, from allocation.ClaimsFrom) allocation.Pod {
	switch from {
	case allocation.FromWorker:
		return toAllocationPod(s.chain.rules, s.readRecord(uid).lastSpec)
	case allocation.FromRuntime:
		return s.allocationPodOfOrphan(s.lastShownPod(uid))
	}
	pod := &v1.Pod{}
	pod.UID = uid
	one := s.chain.rules.RuntimePod(pod, "", "", false)
	one.RuntimeOnly = false
	return one
}

// shownWithoutDetails is the value of record.shown for a pod with a lastSpec. The claims of such a pod come
// from the spec.
var shownWithoutDetails = &runtime.Pod{}

// lastShownPod returns a pod as the runtime listed it last. It returns nil if the pod was not running in the
// stored listing. If that listing has no details of the pod, it reads the newest listing. If the newest listing
// lacks the pod, it returns a pod with only the UID.
func (s *podStates) lastShownPod(uid types.UID) *runtime.Pod {
	if seen := s.readRecord(uid).shown; seen != shownWithoutDetails {
		return seen
	}
	for _, pod := range s.config.Runtime.Pods() {
		if pod.UID == uid {
			return &pod
		}
	}
	return &runtime.Pod{UID: uid}
}

// allocationPodOfOrphan converts a pod that only the runtime has to the form in which the allocation table
// stores pods. The resource requests and host ports come from an annotation of the newest sandbox, which an
// agent of this library has written.
func (s *podStates) allocationPodOfOrphan(pod *runtime.Pod) allocation.Pod {
	newest := -1
	for i := range pod.Sandboxes {
		if newest < 0 || pod.Sandboxes[i].Attempt > pod.Sandboxes[newest].Attempt {
			newest = i
		}
	}
	var a map[string]string
	if newest >= 0 {
		a = pod.Sandboxes[newest].Annotations
	}
	source := a[podmanager.ConfigSourceAnnotation]
	return s.chain.rules.RuntimePod(podFromRuntime(pod), a[podspec.ClaimAnnotation], source, source != "" && source != podmanager.ApiserverSource)
}

// podFromRuntime returns a v1.Pod for a pod of the runtime, with its running containers, its source annotation
// and its first start time. The phase is Running if a container runs. If none runs, the phase is Unknown,
// because the runtime does not know the restart policy.
func podFromRuntime(pod *runtime.Pod) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}, Status: v1.PodStatus{Phase: v1.PodUnknown}}
	for _, c := range pod.Containers {
		if c.State == runtime.StateRunning {
			p.Status.Phase = v1.PodRunning
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: c.Name})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{
				Name: c.Name, ContainerID: c.ID, RestartCount: int32(c.Attempt), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			})
		}
	}
	for _, s := range pod.Sandboxes {
		if since := p.Status.StartTime; !s.CreatedAt.IsZero() && (since == nil || s.CreatedAt.Before(since.Time)) {
			p.Status.StartTime = &metav1.Time{Time: s.CreatedAt}
		}
		if source := s.Annotations[podmanager.ConfigSourceAnnotation]; source != "" {
			p.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: source}
		}
	}
	return p
}
