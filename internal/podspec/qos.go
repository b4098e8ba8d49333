package podspec

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// QOSClass returns the quality of service class of a pod, from cpu and memory. It is Guaranteed if
// every container has limits for both and requests no less, BestEffort if no container has a
// request or limit, and otherwise Burstable. Resources of the pod as a whole replace the resources of its
// containers. A pod whose own resources have only huge pages is BestEffort. QOSClass changes
// nothing and may be called concurrently.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	anything, everything := false, true
	if r := pod.Spec.Resources; r != nil {
		if some, _ := hasAnyAndGuaranteedResources(r); some {
			return qosClassOf(hasAnyAndGuaranteedResources(podResourcesWithoutOverhead(pod)))
		}
		if mentionsHugePages(r) {
			return v1.PodQOSBestEffort
		}
	}
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			some, all := hasAnyAndGuaranteedResources(&containers[i].Resources)
			anything = anything || some
			everything = everything && all
		}
	}
	return qosClassOf(anything, everything)
}

// podResourcesWithoutOverhead returns the requests and limits of a pod as a whole, without the overhead of its
// RuntimeClass.
func podResourcesWithoutOverhead(pod *v1.Pod) *v1.ResourceRequirements {
	bare := *pod
	bare.Spec.Overhead = nil
	return &v1.ResourceRequirements{Requests: Requests(&bare), Limits: pod.Spec.Resources.Limits}
}

// mentionsHugePages reports whether requests or limits have huge pages of any size.
func mentionsHugePages(r *v1.ResourceRequirements) bool {
	for _, list := range [...]v1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
				return true
			}
		}
	}
	return false
}

// qosClassOf returns the QoS class for two facts about a pod. hasAny means that a container, or the pod as a
// whole, has a request or a limit. allGuaranteed means that all of them have equal requests and limits of cpu
// and memory. The class is BestEffort without hasAny, Guaranteed with both, and Burstable with hasAny alone.
func qosClassOf(hasAny, allGuaranteed bool) v1.PodQOSClass {
	switch {
	case !hasAny:
		return v1.PodQOSBestEffort
	case allGuaranteed:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// hasAnyAndGuaranteedResources reports for cpu and memory whether there is any request or limit above zero, and whether
// both have a limit above zero with an equal request. A missing request equals the limit. A request of zero does not.
func hasAnyAndGuaranteedResources(r *v1.ResourceRequirements) (hasAny, hasGuaranteed bool) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return false, false
	}
	hasGuaranteed = true
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limit, limited := r.Limits[name]
		request, requested := r.Requests[name]
		limited = limited && !limit.IsZero()
		hasAny = hasAny || limited || requested && !request.IsZero()
		hasGuaranteed = hasGuaranteed && limited && (!requested || request.Cmp(limit) == 0)
	}
	return hasAny, hasGuaranteed
}
