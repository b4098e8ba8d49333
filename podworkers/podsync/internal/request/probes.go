package request

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
)

// HasProbes reports whether a sidecar or regular container of a pod has a probe.
func HasProbes(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if probesOf(c) != [3]*v1.Probe{} {
			return true
		}
	}
	return false
}

// ExpandProbes returns a pod in which the commands of exec probes are expanded with the literal values
// of the spec. It returns the pod itself if no command changes.
func ExpandProbes(pod *v1.Pod) *v1.Pod {
	var expanded *v1.Pod
	for _, list := range [...]func(*v1.Pod) []v1.Container{
		func(p *v1.Pod) []v1.Container { return p.Spec.InitContainers },
		func(p *v1.Pod) []v1.Container { return p.Spec.Containers },
	} {
		for i := range list(pod) {
			if !hasProbeCommandVariables(&list(pod)[i]) {
				continue
			}
			if expanded == nil {
				expanded = pod.DeepCopy()
			}
			c := &list(expanded)[i]
			for _, p := range probesOf(c) {
				if p != nil && p.Exec != nil {
					p.Exec.Command = environ.ExpandStatic(p.Exec.Command, c.Env)
				}
			}
		}
	}
	if expanded == nil {
		return pod
	}
	return expanded
}

// probesOf returns the liveness, readiness and startup probe of a container, in this order. A missing probe is
// nil.
func probesOf(c *v1.Container) [3]*v1.Probe {
	return [...]*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
}

// hasProbeCommandVariables reports whether the command of any exec probe of the container contains a "$", so
// that it may refer to a variable.
func hasProbeCommandVariables(c *v1.Container) bool {
	for _, p := range probesOf(c) {
		if p == nil || p.Exec == nil {
			continue
		}
		for _, word := range p.Exec.Command {
			if strings.Contains(word, "$") {
				return true
			}
		}
	}
	return false
}

// NeedsPodIPs reports whether a variable or a hook of the pod needs the addresses of the pod.
func NeedsPodIPs(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if c.Lifecycle != nil && c.Lifecycle.PostStart != nil && c.Lifecycle.PostStart.HTTPGet != nil {
			return true
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && strings.HasPrefix(e.ValueFrom.FieldRef.FieldPath, "status.podIP") {
				return true
			}
		}
	}
	return len(pod.Spec.EphemeralContainers) > 0
}
