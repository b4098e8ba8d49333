package podspec

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// specOrStatusHasQuantityOrUncheckable reports whether a quantity in the spec or status of a pod meets a
// condition. It also returns true if the pod has a field that it cannot check. It reads each field by name,
// because a search by reflection would be slow.
func specOrStatusHasQuantityOrUncheckable(pod *v1.Pod, condition func(resource.Quantity) bool) bool {
	w := quantityCondition(condition)
	return w.matchesInSpec(&pod.Spec) || w.matchesOrUncheckableInStatus(&pod.Status)
}

// quantityCondition is a condition on a quantity. Its methods report whether a quantity in a part of a pod meets it.
type quantityCondition func(resource.Quantity) bool

// matchesInSpec reports whether a quantity of the pod's spec meets the condition: in the overhead, resources,
// volumes and containers.
func (w quantityCondition) matchesInSpec(spec *v1.PodSpec) bool {
	found := w.matchesInList(spec.Overhead) || spec.Resources != nil && w.matchesInRequirements(spec.Resources)
	for i := range spec.Volumes {
		found = found || w.matchesInVolume(&spec.Volumes[i])
	}
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			found = found || w.matchesInContainer(&containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		found = found || w.matchesInRequirements(&c.Resources) || w.matchesInEnv(c.Env)
	}
	return found
}

// matchesInContainer reports whether a quantity of the container meets the condition: a limit, a request, or a
// divisor in its environment variables.
func (w quantityCondition) matchesInContainer(c *v1.Container) bool {
	return w.matchesInRequirements(&c.Resources) || w.matchesInEnv(c.Env)
}

// matchesInEnv reports whether the divisor of a resourceFieldRef in one of the environment variables meets the
// condition.
func (w quantityCondition) matchesInEnv(env []v1.EnvVar) bool {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && w.matchesDivisor(from.ResourceFieldRef) {
			return true
		}
	}
	return false
}

// matchesDivisor reports whether the divisor of a resourceFieldRef meets the condition. It returns false if ref
// is nil.
func (w quantityCondition) matchesDivisor(ref *v1.ResourceFieldSelector) bool {
	return ref != nil && w(ref.Divisor)
}

// matchesInVolume reports whether a quantity of the volume meets the condition: the size limit of an emptyDir,
// a divisor in a downward API file, or a request or limit of an ephemeral volume's claim.
func (w quantityCondition) matchesInVolume(v *v1.Volume) bool {
	switch {
	case v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && w(*v.EmptyDir.SizeLimit):
		return true
	case v.DownwardAPI != nil && w.matchesInDownwardAPIFiles(v.DownwardAPI.Items):
		return true
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		r := &v.Ephemeral.VolumeClaimTemplate.Spec.Resources
		if w.matchesInList(r.Limits) || w.matchesInList(r.Requests) {
			return true
		}
	}
	if v.Projected == nil {
		return false
	}
	for i := range v.Projected.Sources {
		if p := v.Projected.Sources[i].DownwardAPI; p != nil && w.matchesInDownwardAPIFiles(p.Items) {
			return true
		}
	}
	return false
}

// matchesInDownwardAPIFiles reports whether the divisor of a resourceFieldRef in one of the files meets the
// condition.
func (w quantityCondition) matchesInDownwardAPIFiles(items []v1.DownwardAPIVolumeFile) bool {
	for i := range items {
		if w.matchesDivisor(items[i].ResourceFieldRef) {
			return true
		}
	}
	return false
}

// matchesOrUncheckableInStatus reports whether a quantity of the status meets the condition, or the status has
// a field that it cannot check.
func (w quantityCondition) matchesOrUncheckableInStatus(s *v1.PodStatus) bool {
	if w.matchesInList(s.AllocatedResources) || s.Resources != nil && w.matchesInRequirements(s.Resources) {
		return true
	}
	if len(s.NodeAllocatableResourceClaimStatuses) > 0 {
		return true // The API moved its quantities between 0.36 and 0.37, so the check by reflection must decide.
	}
	for _, statuses := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			if c := &statuses[i]; w.matchesInList(c.AllocatedResources) || c.Resources != nil && w.matchesInRequirements(c.Resources) {
				return true
			}
		}
	}
	return false
}

// matchesInRequirements reports whether a limit or a request meets the condition.
func (w quantityCondition) matchesInRequirements(r *v1.ResourceRequirements) bool {
	return w.matchesInList(r.Limits) || w.matchesInList(r.Requests)
}

// matchesInList reports whether a quantity of the list meets the condition.
func (w quantityCondition) matchesInList(list v1.ResourceList) bool {
	for _, q := range list {
		if w(q) {
			return true
		}
	}
	return false
}
