package podspec

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// anyQuantity reports whether one of the quantities of a pod is such, or may be. It knows each
// place by name: to look for them by reflection is most of what the check of a pod costs.
func anyQuantity(pod *v1.Pod, such func(resource.Quantity) bool) bool {
	w := walk(such)
	return w.spec(&pod.Spec) || w.status(&pod.Status)
}

// walk visits quantities until one is such.
type walk func(resource.Quantity) bool

func (w walk) spec(spec *v1.PodSpec) bool {
	found := w.list(spec.Overhead) || spec.Resources != nil && w.requirements(spec.Resources)
	for i := range spec.Volumes {
		found = found || w.volume(&spec.Volumes[i])
	}
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			found = found || w.container(&containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		found = found || w.requirements(&c.Resources) || w.env(c.Env)
	}
	return found
}

func (w walk) container(c *v1.Container) bool { return w.requirements(&c.Resources) || w.env(c.Env) }

func (w walk) env(env []v1.EnvVar) bool {
	for i := range env {
		if from := env[i].ValueFrom; from != nil && w.field(from.ResourceFieldRef) {
			return true
		}
	}
	return false
}

func (w walk) field(ref *v1.ResourceFieldSelector) bool { return ref != nil && w(ref.Divisor) }

func (w walk) volume(v *v1.Volume) bool {
	switch {
	case v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && w(*v.EmptyDir.SizeLimit):
		return true
	case v.DownwardAPI != nil && w.files(v.DownwardAPI.Items):
		return true
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		r := &v.Ephemeral.VolumeClaimTemplate.Spec.Resources
		if w.list(r.Limits) || w.list(r.Requests) {
			return true
		}
	}
	if v.Projected == nil {
		return false
	}
	for i := range v.Projected.Sources {
		if p := v.Projected.Sources[i].DownwardAPI; p != nil && w.files(p.Items) {
			return true
		}
	}
	return false
}

func (w walk) files(items []v1.DownwardAPIVolumeFile) bool {
	for i := range items {
		if w.field(items[i].ResourceFieldRef) {
			return true
		}
	}
	return false
}

func (w walk) status(s *v1.PodStatus) bool {
	if w.list(s.AllocatedResources) || s.Resources != nil && w.requirements(s.Resources) {
		return true
	}
	if len(s.NodeAllocatableResourceClaimStatuses) > 0 {
		return true // Where its quantities are differs between 0.36 and 0.37 of the API.
	}
	for _, statuses := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			if c := &statuses[i]; w.list(c.AllocatedResources) || c.Resources != nil && w.requirements(c.Resources) {
				return true
			}
		}
	}
	return false
}

func (w walk) requirements(r *v1.ResourceRequirements) bool {
	return w.list(r.Limits) || w.list(r.Requests)
}

func (w walk) list(list v1.ResourceList) bool {
	for _, q := range list {
		if w(q) {
			return true
		}
	}
	return false
}
