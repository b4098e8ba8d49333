package validation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// podResources checks the resources of a pod as a whole: containers must fit in them.
func (f *findings) podResources(spec *v1.PodSpec, at *field.Path) {
	r := spec.Resources
	if r == nil {
		return
	}
	if len(r.Claims) > 0 {
		f.forbidden(at.Child("claims"), "expected none for a pod as a whole")
	}
	requests, limits := podspec.SumResources(spec)
	f.newResources(r, at, at.Child("limits"), hasResource(requests, v1.ResourceCPU) || hasResource(requests, v1.ResourceMemory))
	for _, list := range []struct {
		name string
		of   v1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range sortedKeys(list.of) {
			if !podspec.IsPodLevelResource(name) {
				f.whole(field.ErrorTypeNotSupported, at.Child(list.name).Key(string(name)), "expected cpu, memory or hugepages-... for a pod as a whole")
			}
		}
	}
	read := f.ifRead(field.NewPath("spec", "containers"), field.NewPath("spec", "initContainers"))
	for _, name := range sortedKeys(requests) {
		if sum, most := requests[name], r.Requests[name]; hasResource(r.Requests, name) && sum.Cmp(most) > 0 {
			read.invalid(at.Child("requests").Key(string(name)), &most, "expected at least what its containers request, %s", sum.String())
		}
	}
	for _, name := range sortedKeys(limits) {
		if sum, most := limits[name], r.Limits[name]; hasResource(r.Limits, name) && hugePages(name) && sum.Cmp(most) > 0 {
			read.invalid(at.Child("limits").Key(string(name)), &most, "expected at least what its containers may take, %s", sum.String())
		}
	}
	for i := range spec.Containers {
		own := spec.Containers[i].Resources.Limits
		for _, name := range sortedKeys(own) {
			if limit, most := own[name], r.Limits[name]; hasResource(r.Limits, name) && limit.Cmp(most) > 0 {
				at := field.NewPath("spec", "containers").Index(i).Child("resources", "limits").Key(string(name))
				f.ifRead(field.NewPath("spec", "resources")).invalid(at, &limit, "expected at most the limit of the pod, %s", most.String())
			}
		}
	}
}

func hasResource(list v1.ResourceList, name v1.ResourceName) bool {
	_, ok := list[name]
	return ok
}
