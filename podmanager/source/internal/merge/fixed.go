package merge

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// rebuilt reports whether something of a pod has changed under its UID that an
// API server would never let change. Such a pod is another pod (F18): applied
// in place, half of the change would take effect at the next restart and the
// rest never.
func rebuilt(before, now *v1.Pod) bool {
	if before == now || now.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		return false
	}
	return !equality.Semantic.DeepEqual(fixed(&before.Spec), fixed(&now.Spec))
}

// fixed is a spec without what may change during a pod's life: images, the
// deadline, the grace, tolerations, ephemeral containers, scheduling, and
// resources, which an API server lets a pod be resized by.
func fixed(spec *v1.PodSpec) *v1.PodSpec {
	spec = spec.DeepCopy()
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Image, c.ImagePullPolicy = "", "" // The default of the latter follows the image's tag.
			c.Resources, c.ResizePolicy = v1.ResourceRequirements{}, nil
		}
	}
	spec.Resources = nil
	spec.EphemeralContainers = nil
	spec.ActiveDeadlineSeconds = nil
	spec.TerminationGracePeriodSeconds = nil
	spec.Tolerations = nil
	spec.SchedulingGates = nil
	spec.NodeName = ""
	return spec
}
