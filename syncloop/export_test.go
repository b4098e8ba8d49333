package syncloop

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// Sums returns the sums of the claims of all pods, as the table has them and computed again from all pods. ran
// has each pod before its termination began.
func (h *Handlers) Sums(ran map[types.UID]*v1.Pod) (kept, recomputed string) {
	var staying, ending []*v1.Pod
	for _, pod := range h.config.Manager.GetPods() {
		if h.isWaitingInTable(pod.UID) || h.isAdmittedAndNotTerminating(pod, h.config.Workers.View(pod.UID)) {
			staying = append(staying, pod)
		}
	}
	for uid, pod := range ran {
		view := h.config.Workers.View(uid)
		if view.IsPodTerminationRequested() && !view.IsPodKnownTerminated() && view.Started {
			ending = append(ending, pod)
		}
	}
	return formatSums(h.table.StayingSums()) + " | " + formatSums(h.table.TerminatingSums()), formatSums(newSnapshotOfPods(h.chain.rules, staying).Staying) + " | " + formatSums(newSnapshotOfPods(h.chain.rules, ending).Staying)
}

func formatSums(s allocation.Sums) string {
	var uids []string
	for _, pod := range (allocation.Snapshot{Staying: s}).Pods() {
		uids = append(uids, string(pod.UID))
	}
	slices.Sort(uids)
	cpu, port := s.Requested(v1.ResourceCPU), false
	one := toAllocationPod(allocation.NewChain(), withPort(80))
	s.Holders(one.Claims.Keys[1], func(allocation.Holder) bool { port = true; return true })
	return fmt.Sprintf("%s: cpu %d, port 80 %t", strings.Join(uids, " "), cpu.MilliValue(), port)
}

func withPort(port int32) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{HostPort: port}}}}}}
}

// Skeleton returns the API object for a pod that an earlier agent has left behind.
func Skeleton(pod *runtime.Pod) *v1.Pod { return podFromRuntime(pod) }

// Noted returns the number of pods with a worker change that the usage does not contain yet.
func (h *Handlers) Noted() int {
	h.Scheduling.mu.Lock()
	defer h.Scheduling.mu.Unlock()
	return h.Scheduling.mu.PendingWorkerChanges()
}

// TakesOfGiven returns the claims of a pod from the runtime, after its worker has received the pod and the
// runtime has been observed. gone is called before the claims are read.
func (h *Handlers) TakesOfGiven(pod *v1.Pod, gone func()) allocation.Pod {
	h.ensureRecord(pod.UID).lastSpec = pod
	h.updateAllocationsFromRuntime(h.config.Runtime.Pods())
	gone()
	return h.allocationPodOfTerminating(pod.UID, allocation.FromRuntime)
}
