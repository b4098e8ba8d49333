package validation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// checkPodResources checks the resources of the pod as a whole (spec.resources), if they are set. The requests
// of all containers together, and the limit of each container, must fit into them; for huge pages also the sum
// of the limits.
func (f *findings) checkPodResources(spec *v1.PodSpec, at *field.Path) {
	r := spec.Resources
	if r == nil {
		return
	}
	if len(r.Claims) > 0 {
		f.addForbidden(at.Child("claims"), "expected none for a pod as a whole")
	}
	requests, limits := podspec.SumResources(spec)
	f.checkResourcesOfNewPod(r, at, at.Child("limits"), hasResource(requests, v1.ResourceCPU) || hasResource(requests, v1.ResourceMemory))
	for _, list := range []struct {
		name string
		of   v1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range sortedKeys(list.of) {
			if !podspec.IsPodLevelResource(name) {
				f.addWithoutValue(field.ErrorTypeNotSupported, at.Child(list.name).Key(string(name)), "expected cpu, memory or hugepages-... for a pod as a whole")
			}
		}
	}
	read := f.onlyIfRead(field.NewPath("spec", "containers"), field.NewPath("spec", "initContainers"))
	for _, name := range sortedKeys(requests) {
		if sum, most := requests[name], r.Requests[name]; hasResource(r.Requests, name) && sum.Cmp(most) > 0 {
			read.addInvalid(at.Child("requests").Key(string(name)), &most, "expected at least what its containers request, %s", sum.String())
		}
	}
	for _, name := range sortedKeys(limits) {
		if sum, most := limits[name], r.Limits[name]; hasResource(r.Limits, name) && isHugePages(name) && sum.Cmp(most) > 0 {
			read.addInvalid(at.Child("limits").Key(string(name)), &most, "expected at least what its containers may take, %s", sum.String())
		}
	}
	for i := range spec.Containers {
		own := spec.Containers[i].Resources.Limits
		for _, name := range sortedKeys(own) {
			if limit, most := own[name], r.Limits[name]; hasResource(r.Limits, name) && limit.Cmp(most) > 0 {
				at := field.NewPath("spec", "containers").Index(i).Child("resources", "limits").Key(string(name))
				f.onlyIfRead(field.NewPath("spec", "resources")).addInvalid(at, &limit, "expected at most the limit of the pod, %s", most.String())
			}
		}
	}
}

// hasResource reports whether a list has an entry for a resource, also one of zero.
func hasResource(list v1.ResourceList, name v1.ResourceName) bool {
	_, ok := list[name]
	return ok
}
