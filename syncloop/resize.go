package syncloop

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// storePods stores changed pods in the manager and returns them as stored. A pod from an API server is stored
// with the resources it was admitted with, because a resize is not supported.
func (h *Handlers) storePods(pods []*v1.Pod) []*v1.Pod {
	stored := make([]*v1.Pod, len(pods))
	for i, pod := range pods {
		stored[i] = h.withAdmittedResources(pod)
		h.config.Manager.UpdatePod(stored[i])
	}
	return stored
}

// withAdmittedResources returns a copy of a pod from an API server with the resources of its stored version. If
// that changes the pod, the copy gets the condition PodResizePending with reason Infeasible, and the first time
// an event is recorded. A mirror pod or a pod of another source is returned unchanged; an unknown or waiting
// pod keeps its new resources.
func (h *Handlers) withAdmittedResources(pod *v1.Pod) *v1.Pod {
	if podmanager.IsMirrorPod(pod) || !h.config.FromAPIServer(pod) {
		return pod
	}
	pod = pod.DeepCopy()
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
	before, known := h.config.Manager.GetPodByUID(pod.UID)
	if !known || h.awaitsAdmission(pod.UID) || !restoreResources(before, pod) {
		return pod
	}
	if podstatus.FindCondition(before.Status.Conditions, v1.PodResizePending) == nil {
		h.config.Recorder.Event(pod, v1.EventTypeWarning, "ResizeInfeasible", resizeInfeasible)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible, Message: resizeInfeasible, ObservedGeneration: pod.Generation,
	})
	return pod
}

const resizeInfeasible = "this node does not resize pods in place"

// restoreResources sets the container and pod resources in pod to those in before. differ is true if a request
// or limit was different.
func restoreResources(before, pod *v1.Pod) (differ bool) {
	keep := func(now *v1.ResourceRequirements, was v1.ResourceRequirements) {
		differ = differ || !equalResources(now.Requests, was.Requests) || !equalResources(now.Limits, was.Limits)
		*now = was
	}
	for _, lists := range [...][2][]v1.Container{{pod.Spec.InitContainers, before.Spec.InitContainers}, {pod.Spec.Containers, before.Spec.Containers}} {
		for i := range min(len(lists[0]), len(lists[1])) {
			keep(&lists[0][i].Resources, lists[1][i].Resources)
		}
	}
	if now, was := pod.Spec.Resources, before.Spec.Resources; now != nil && was != nil {
		keep(now, *was)
	} else if now != was {
		pod.Spec.Resources, differ = was, true
	}
	return differ
}

// equalResources reports whether two resource lists have the same names and equal quantities.
func equalResources(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
