package allocation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	forEachContainer(&pod.Spec, func(c *v1.Container) { r.Containers[c.Name] = c.Resources })
	return r
}

// ApplyTo returns a copy of a pod with these resources, and reports whether a request or a limit differed. It
// returns the pod itself if none did. A container that r does not have keeps the resources of its spec, and a
// pod or container with other resource claims keeps them.
func (r PodResources) ApplyTo(pod *v1.Pod) (_ *v1.Pod, differed bool) {
	if r.equalsSpec(&pod.Spec) {
		return pod, false
	}
	pod = pod.DeepCopy()
	forEachContainer(&pod.Spec, func(c *v1.Container) {
		if own, found := r.Containers[c.Name]; found {
			c.Resources.Requests, c.Resources.Limits = maps.Clone(own.Requests), maps.Clone(own.Limits)
		}
	})
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

// equalsSpec reports whether ApplyTo would change nothing in a spec.
func (r PodResources) equalsSpec(spec *v1.PodSpec) bool {
	equal := true
	forEachContainer(spec, func(c *v1.Container) {
		if own, found := r.Containers[c.Name]; found {
			equal = equal && EqualRequirements(&own, &c.Resources)
		}
	})
	if r.Pod == nil || spec.Resources == nil {
		return equal && r.Pod == spec.Resources
	}
	return equal && EqualRequirements(r.Pod, spec.Resources)
}

// SameResources reports whether the specs of two pods have equal requests and limits for the pod and for each
// container that both have.
func SameResources(a, b *v1.Pod) bool { return PodResourcesOf(a).equalsSpec(&b.Spec) }

// HasResources reports whether a pod or one of its containers has a request or a limit.
func HasResources(pod *v1.Pod) bool {
	has := pod.Spec.Resources != nil
	forEachContainer(&pod.Spec, func(c *v1.Container) {
		has = has || len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0
	})
	return has
}

// EqualRequirements reports whether the requests and the limits are equal by name and amount.
func EqualRequirements(a, b *v1.ResourceRequirements) bool {
	return equalLists(a.Requests, b.Requests) && equalLists(a.Limits, b.Limits)
}

// equalLists reports whether two resource lists have the same names and equal amounts.
func equalLists(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// forEachContainer calls f with each init container and each regular container of a spec.
func forEachContainer(spec *v1.PodSpec, f func(c *v1.Container)) {
	for _, list := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			f(&list[i])
		}
	}
}
