package syncloop

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// Sums are what the pods of the node take, as the handlers keep it and as it is when
// all of it is added up anew. ran is how each pod was before it began to end.
func (h *Handlers) Sums(ran map[types.UID]*v1.Pod) (kept, recomputed string) {
	var staying, ending admission.Sums
	for _, pod := range h.config.Manager.GetPods() {
		if h.places.admissionQueue.Waiting(pod.UID) || h.stays(pod, h.config.Workers.View(pod.UID)) {
			staying.Put(usageOf(pod))
		}
	}
	for uid, pod := range ran {
		view := h.config.Workers.View(uid)
		if view.IsPodTerminationRequested() && !view.IsPodKnownTerminated() && view.Started {
			ending.Put(usageOf(pod))
		}
	}
	return text(h.places.admissionQueue.Staying()) + " | " + text(h.places.admissionQueue.Ending()), text(&staying) + " | " + text(&ending)
}

func text(s *admission.Sums) string {
	var uids []string
	for _, uid := range s.UIDs() {
		uids = append(uids, string(uid))
	}
	slices.Sort(uids)
	cpu := s.Requested(v1.ResourceCPU)
	_, port := s.Holder(admission.ItemOf(withPort(80)).Ports[0])
	return fmt.Sprintf("%s: cpu %d, port 80 %t", strings.Join(uids, " "), cpu.MilliValue(), port)
}

func withPort(port int32) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{HostPort: port}}}}}}
}

// Skeleton is what a pod looks like that a former agent has left behind.
func Skeleton(pod *runtime.Pod) *v1.Pod { return skeleton(pod) }

// Noted is how many notes the usage still looks at.
func (h *Handlers) Noted() int {
	h.usage.mu.Lock()
	defer h.usage.mu.Unlock()
	return len(h.usage.mu.noted)
}

// TakesOfGiven is what the runtime says that a pod takes, after its worker was given it and the
// runtime was looked at; gone: the runtime shows it no more since.
func (h *Handlers) TakesOfGiven(pod *v1.Pod, gone func()) admission.Item {
	h.places.given[pod.UID] = pod
	h.look(h.config.Runtime.Pods())
	gone()
	return h.takes(pod.UID, admission.FromRuntime)
}
