package podstatus

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// QOSClass is the quality of service that a pod's cpu and memory amount to:
// Guaranteed if every container limits both and requests no less, BestEffort
// if none says anything, otherwise Burstable. What the pod says of itself as a
// whole counts in place of what its containers say, also if it names nothing but huge
// pages: such a pod is BestEffort. It changes nothing that it is given and may be called
// concurrently.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	anything, everything := false, true
	if r := pod.Spec.Resources; r != nil {
		if some, _ := service(r); some {
			return classOf(service(askedAsWhole(pod)))
		}
		if namesHugePages(r) {
			return v1.PodQOSBestEffort
		}
	}
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			some, all := service(&containers[i].Resources)
			anything = anything || some
			everything = everything && all
		}
	}
	return classOf(anything, everything)
}

// askedAsWhole is what a pod asks for and may take as a whole, without what its sandbox
// costs.
func askedAsWhole(pod *v1.Pod) *v1.ResourceRequirements {
	bare := *pod
	bare.Spec.Overhead = nil
	return &v1.ResourceRequirements{Requests: podspec.Requests(&bare), Limits: pod.Spec.Resources.Limits}
}

// namesHugePages reports whether requests or limits name huge pages of any size.
func namesHugePages(r *v1.ResourceRequirements) bool {
	for _, list := range [...]v1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
				return true
			}
		}
	}
	return false
}

func classOf(anything, everything bool) v1.PodQOSClass {
	switch {
	case !anything:
		return v1.PodQOSBestEffort
	case everything:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// service reports whether a container asks for any cpu or memory, and whether
// it limits both at what it requests. A request left out is the limit.
func service(r *v1.ResourceRequirements) (some, all bool) {
	if len(r.Limits) == 0 && len(r.Requests) == 0 {
		return false, false
	}
	all = true
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limit, limited := r.Limits[name]
		request, requested := r.Requests[name]
		limited = limited && !limit.IsZero()
		requested = requested && !request.IsZero()
		some = some || limited || requested
		all = all && limited && (!requested || request.Cmp(limit) == 0)
	}
	return some, all
}
