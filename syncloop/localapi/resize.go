package localapi

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// resizeSubresource is the subresource by which clients change the cpu and memory of a pod, as kubectl patch
// --subresource resize does.
const resizeSubresource = "resize"

// copyResources copies the resources and resize policies of the containers, the init containers and the pod from
// one spec to another, and no other field. A list of containers with other names is copied whole, so that
// validateResize refuses it.
func copyResources(to, from *v1.PodSpec) {
	to.Resources = from.Resources
	to.InitContainers = withResourcesOf(to.InitContainers, from.InitContainers)
	to.Containers = withResourcesOf(to.Containers, from.Containers)
}

// withResourcesOf returns the containers with the resources and resize policies of the containers in from. It
// returns from if the two lists do not have the same names in the same order.
func withResourcesOf(containers, from []v1.Container) []v1.Container {
	if !slices.EqualFunc(containers, from, func(a, b v1.Container) bool { return a.Name == b.Name }) {
		return from
	}
	next := slices.Clone(containers)
	for i := range next {
		next[i].Resources, next[i].ResizePolicy = from[i].Resources, from[i].ResizePolicy
	}
	return next
}

// validateResize returns an error for each change that an API server forbids in a resize: another resource than
// cpu and memory, a removed request or limit, another resource claim, another list of containers, or another QoS
// class (RZ-21).
func validateResize(before, after *v1.Pod) field.ErrorList {
	errs := validation.ValidateResize(before, after)
	spec := field.NewPath("spec")
	for _, lists := range [...]struct {
		path          *field.Path
		before, after []v1.Container
	}{{spec.Child("initContainers"), before.Spec.InitContainers, after.Spec.InitContainers}, {spec.Child("containers"), before.Spec.Containers, after.Spec.Containers}} {
		for i := range min(len(lists.before), len(lists.after)) {
			if !equality.Semantic.DeepEqual(lists.before[i].Resources.Claims, lists.after[i].Resources.Claims) {
				errs = append(errs, field.Forbidden(lists.path.Index(i).Child("resources", "claims"), "only cpu and memory can be resized"))
			}
		}
	}
	return errs
}
