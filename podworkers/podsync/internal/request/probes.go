package request

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
)

// HasProbes reports whether any container of a pod that goes on running is
// probed.
func HasProbes(pod *v1.Pod) bool {
	for c := range podspec.AllContainers(pod) {
		if probesOf(c) != [3]*v1.Probe{} {
			return true
		}
	}
	return false
}

// ExpandProbes is the pod with the commands of its probes as they are run: they
// see the literal values of the spec and nothing else.
func ExpandProbes(pod *v1.Pod) *v1.Pod {
	var expanded *v1.Pod
	for _, list := range [...]func(*v1.Pod) []v1.Container{
		func(p *v1.Pod) []v1.Container { return p.Spec.InitContainers },
		func(p *v1.Pod) []v1.Container { return p.Spec.Containers },
	} {
		for i := range list(pod) {
			if !probesRefer(&list(pod)[i]) {
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

func probesOf(c *v1.Container) [3]*v1.Probe {
	return [...]*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
}

// probesRefer reports whether the command of a probe may have something to
// expand.
func probesRefer(c *v1.Container) bool {
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

// TellsAddresses reports whether a variable or a hook of the pod needs to know
// its addresses.
func TellsAddresses(pod *v1.Pod) bool {
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
