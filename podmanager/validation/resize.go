package validation

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// ValidateResize returns why a running pod cannot get the resources of its new spec, with the path of each
// fault: a resource other than cpu and memory has changed, a request or limit was removed, a container was added,
// removed or renamed, the QoS class would change, or the containers would not fit into the resources of the pod as
// a whole. These are the rules of an API server for the subresource
// resize. A pod from a file or from Apply has not passed an API server. Neither pod is changed. It may be called
// concurrently.
func ValidateResize(allocated, desired *v1.Pod) field.ErrorList {
	var faults field.ErrorList
	at := field.NewPath("spec")
	faults = append(faults, validateContainerResizes(allocated.Spec.InitContainers, desired.Spec.InitContainers, at.Child("initContainers"))...)
	faults = append(faults, validateContainerResizes(allocated.Spec.Containers, desired.Spec.Containers, at.Child("containers"))...)
	before, after := v1.ResourceRequirements{}, v1.ResourceRequirements{}
	if allocated.Spec.Resources != nil {
		before = *allocated.Spec.Resources
	}
	if desired.Spec.Resources != nil {
		after = *desired.Spec.Resources
	}
	faults = append(faults, validateRequirementsResize(&before, &after, at.Child("resources"))...)
	faults = append(faults, newPodResourceFaults(&allocated.Spec, &desired.Spec)...)
	if was, is := podstatus.QOSClass(allocated), podstatus.QOSClass(desired); was != is {
		faults = append(faults, field.Invalid(field.NewPath("status", "qosClass"), is, fmt.Sprintf("the QoS class is %s, and a resize cannot change it", was)))
	}
	return faults
}

// newPodResourceFaults returns the faults in the desired resources of the pod as a whole that its allocated resources
// do not have. A pod that an earlier process has accepted may have such faults.
func newPodResourceFaults(allocated, desired *v1.PodSpec) field.ErrorList {
	var before, after findings
	at := field.NewPath("spec", "resources")
	before.checkPodResources(allocated, at)
	after.checkPodResources(desired, at)
	return slices.DeleteFunc(after.errs, func(fault *field.Error) bool {
		return slices.ContainsFunc(before.errs, func(known *field.Error) bool { return known.Field == fault.Field })
	})
}

// validateContainerResizes returns the faults in the new resources of a list of containers.
func validateContainerResizes(before, after []v1.Container, at *field.Path) (faults field.ErrorList) {
	sameNames := slices.EqualFunc(before, after, func(a, b v1.Container) bool { return a.Name == b.Name })
	if !sameNames {
		return field.ErrorList{field.Forbidden(at, "a resize cannot add, remove or rename containers")}
	}
	for i := range before {
		faults = append(faults, validateRequirementsResize(&before[i].Resources, &after[i].Resources, at.Index(i).Child("resources"))...)
	}
	return faults
}

// validateRequirementsResize returns the faults in the new requests and limits of a container or a pod.
func validateRequirementsResize(before, after *v1.ResourceRequirements, at *field.Path) field.ErrorList {
	return append(validateListResize(before.Requests, after.Requests, at.Child("requests")),
		validateListResize(before.Limits, after.Limits, at.Child("limits"))...)
}

// validateListResize returns the faults in one list of requests or limits.
func validateListResize(before, after v1.ResourceList, at *field.Path) (faults field.ErrorList) {
	names := maps.Clone(before)
	if names == nil {
		names = v1.ResourceList{}
	}
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		switch {
		case had && !has:
			faults = append(faults, field.Forbidden(at.Key(string(name)), "a resize cannot remove it"))
		case name != v1.ResourceCPU && name != v1.ResourceMemory && (!had || was.Cmp(is) != 0):
			faults = append(faults, field.Forbidden(at.Key(string(name)), "only cpu and memory can be resized"))
		}
	}
	return faults
}
