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

// Sums are what the pods of the node take, as the handlers keep it and as it is when
// all of it is added up anew. ran is how each pod was before it began to end.
func (h *Handlers) Sums(ran map[types.UID]*v1.Pod) (kept, recomputed string) {
	var staying, ending []*v1.Pod
	for _, pod := range h.config.Manager.GetPods() {
		if h.isWaitingInTable(pod.UID) || h.isAdmittedToStay(pod, h.config.Workers.View(pod.UID)) {
			staying = append(staying, pod)
		}
	}
	for uid, pod := range ran {
		view := h.config.Workers.View(uid)
		if view.IsPodTerminationRequested() && !view.IsPodKnownTerminated() && view.Started {
			ending = append(ending, pod)
		}
	}
	return text(h.table.StayingSums()) + " | " + text(h.table.TerminatingSums()), text(snapshotWith(h.chain.rules, staying).Staying) + " | " + text(snapshotWith(h.chain.rules, ending).Staying)
}

func text(s allocation.Sums) string {
	var uids []string
	for _, pod := range (allocation.Snapshot{Staying: s}).Pods() {
		uids = append(uids, string(pod.UID))
	}
	slices.Sort(uids)
	cpu, port := s.Requested(v1.ResourceCPU), false
	one := podWithClaims(allocation.NewChain(), withPort(80))
	s.Holders(one.Claims.Keys[1], func(allocation.Holder) bool { port = true; return true })
	return fmt.Sprintf("%s: cpu %d, port 80 %t", strings.Join(uids, " "), cpu.MilliValue(), port)
}

func withPort(port int32) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{HostPort: port}}}}}}
}

// Skeleton is what a pod looks like that a former agent has left behind.
func Skeleton(pod *runtime.Pod) *v1.Pod { return podFromRuntime(pod) }

// PendingWorkerChanges is how many notes the usage still looks at.
func (h *Handlers) Noted() int {
	h.Scheduling.mu.Lock()
	defer h.Scheduling.mu.Unlock()
	return h.Scheduling.mu.PendingWorkerChanges()
}

// TakesOfGiven is what the runtime says that a pod takes, after its worker was given it and the
// runtime was looked at; gone: the runtime shows it no more since.
func (h *Handlers) TakesOfGiven(pod *v1.Pod, gone func()) allocation.Pod {
	h.ensureRecord(pod.UID).lastSpec = pod
	h.observeRuntimePods(h.config.Runtime.Pods())
	gone()
	return h.claimsOfTerminating(pod.UID, allocation.FromRuntime)
}
