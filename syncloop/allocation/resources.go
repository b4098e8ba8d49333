package allocation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// PodResources are the requests and limits of one pod and its containers: the part of a spec that a resize changes.
// It can be stored as JSON.
type PodResources struct {
	// Generation is metadata.generation of the spec that the resources were taken from.
	Generation int64 `json:"generation,omitempty"`
	// Pod has the resources of the whole pod; nil: its spec has none.
	Pod *v1.ResourceRequirements `json:"pod,omitempty"`
	// Containers has the resources by container name, without ephemeral containers.
	Containers map[string]v1.ResourceRequirements `json:"containers,omitempty"`
}

// PodResourcesOf returns the resources in the spec of a pod. The result shares its quantities with the pod.
func PodResourcesOf(pod *v1.Pod) PodResources {
	r := PodResources{Generation: pod.Generation, Pod: pod.Spec.Resources, Containers: map[string]v1.ResourceRequirements{}}
	for c := range podspec.AllContainers(pod) {
		r.Containers[c.Name] = c.Resources
	}
	return r
}

// ApplyTo returns a copy of a pod with these resources, and reports whether a request or a limit differed. It
// returns the pod itself if none did. A container that r does not have keeps the resources of its spec, and a
// pod or container with other resource claims keeps them.
func (r PodResources) ApplyTo(pod *v1.Pod) (_ *v1.Pod, differed bool) {
	if r.equalsResourcesOf(pod) {
		return pod, false
	}
	pod = pod.DeepCopy()
	for c := range podspec.AllContainers(pod) {
		if own, found := r.Containers[c.Name]; found {
			c.Resources.Requests, c.Resources.Limits = maps.Clone(own.Requests), maps.Clone(own.Limits)
		}
	}
	if r.Pod == nil {
		pod.Spec.Resources = nil
		return pod, true
	}
	if pod.Spec.Resources == nil {
		pod.Spec.Resources = &v1.ResourceRequirements{}
	}
	pod.Spec.Resources.Requests, pod.Spec.Resources.Limits = maps.Clone(r.Pod.Requests), maps.Clone(r.Pod.Limits)
	return pod, true
}

// equalsResourcesOf reports whether ApplyTo would return the pod unchanged.
func (r PodResources) equalsResourcesOf(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if own, found := r.Containers[c.Name]; found && !equalRequirements(&own, &c.Resources) {
			return false
		}
	}
	if r.Pod == nil || pod.Spec.Resources == nil {
		return r.Pod == pod.Spec.Resources
	}
	return equalRequirements(r.Pod, pod.Spec.Resources)
}

// SameResources reports whether the specs of two pods have equal requests and limits for the pod and for each
// container that both have.
func SameResources(a, b *v1.Pod) bool { return PodResourcesOf(a).equalsResourcesOf(b) }

// HasResources reports whether a pod or one of its containers has a request or a limit.
func HasResources(pod *v1.Pod) bool {
	if pod.Spec.Resources != nil {
		return true
	}
	for c := range podspec.AllContainers(pod) {
		if len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0 {
			return true
		}
	}
	return false
}

// equalRequirements reports whether the requests and the limits are equal by name and amount.
func equalRequirements(a, b *v1.ResourceRequirements) bool {
	return equalLists(a.Requests, b.Requests) && equalLists(a.Limits, b.Limits)
}

// equalLists reports whether two resource lists have the same names and equal amounts.
func equalLists(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
