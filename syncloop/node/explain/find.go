package explain

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
)

// factsIndex finds the facts about a container by its name.
type factsIndex struct {
	init, regular podspec.Index[v1.Container]
	records       podspec.Index[runtime.ContainerStatus]
	probes        map[string][]Probe
	next          *Next
}

// fillMissingAndIndex replaces a missing pod or status by an empty one. It also builds the index of containers,
// runtime records and probes, and stores in it when and why the worker next does something.
func (f *Facts) fillMissingAndIndex() {
	if f.Pod == nil {
		f.Pod = &v1.Pod{}
	}
	if f.Status == nil {
		f.Status = &v1.PodStatus{}
	}
	name := func(c *v1.Container) string { return c.Name }
	f.index = factsIndex{
		init: podspec.NewIndex(f.Pod.Spec.InitContainers, name), regular: podspec.NewIndex(f.Pod.Spec.Containers, name),
		probes: make(map[string][]Probe),
	}
	if f.Runtime != nil {
		f.index.records = podspec.NewIndex(f.Runtime.Containers, func(c *runtime.ContainerStatus) string { return c.Name })
	}
	for _, p := range f.Probes {
		f.index.probes[p.Container] = append(f.index.probes[p.Container], p)
	}
	f.index.next = f.nextSyncOrDeadline()
}
