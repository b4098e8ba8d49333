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
// deadline, the grace, tolerations, ephemeral containers, scheduling.
func fixed(spec *v1.PodSpec) *v1.PodSpec {
	spec = spec.DeepCopy()
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = ""
		spec.InitContainers[i].ImagePullPolicy = "" // Its default follows the image's tag.
	}
	for i := range spec.Containers {
		spec.Containers[i].Image = ""
		spec.Containers[i].ImagePullPolicy = ""
	}
	spec.EphemeralContainers = nil
	spec.ActiveDeadlineSeconds = nil
	spec.TerminationGracePeriodSeconds = nil
	spec.Tolerations = nil
	spec.SchedulingGates = nil
	spec.NodeName = ""
	return spec
}
