package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// pod is the state of a pod. The lock of the prober guards all of it, except the values that never
// change: uid and spec, and the settings of containers and probes.
type pod struct {
	uid        types.UID
	spec       *v1.Pod // the argument of the first AddPod; nil: AddPod was not called
	containers []*container
	ip         string
	observed   []Container // the last observation, for probes that are added later
	updates    uint64      // the number of AddPod and Observe calls
}

// container has the probes of one container.
type container struct {
	pod    *pod
	name   string
	ports  []v1.ContainerPort
	state  verdict.Container
	probes [verdict.Kinds]*probe // nil: the container has no such probe
}

// probe is one probe and its position in a schedule.
type probe struct {
	container *container
	kind      verdict.Kind
	handler   *v1.ProbeHandler
	timeout   time.Duration

	due          time.Time
	seq          uint64
	position     int  // in the schedule; -1: not in it
	lastTimedOut bool // the last attempt reached its timeout

	running    *attempt // nil: none runs whose result is needed
	unreturned *attempt // running, or a cancelled attempt whose check has not returned; nil: neither
}

// probesByKind returns the liveness, readiness and startup probe of a container, indexed by kind. A missing
// probe is nil.
func probesByKind(c *v1.Container) [verdict.Kinds]*v1.Probe {
	return [verdict.Kinds]*v1.Probe{verdict.Liveness: c.LivenessProbe, verdict.Readiness: c.ReadinessProbe, verdict.Startup: c.StartupProbe}
}

// hasProbes reports whether a container has a liveness, readiness or startup probe.
func hasProbes(c *v1.Container) bool {
	return c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
}

// findContainer returns the probed container with a name. It returns nil if p is nil or the pod has no such
// container with probes.
func (p *pod) findContainer(name string) *container {
	if p == nil {
		return nil
	}
	for _, c := range p.containers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// probedContainer is a container with probes in the spec of a pod, with the random delays of its
// probes.
type probedContainer struct {
	spec   *v1.Container
	spread [verdict.Kinds]float64
}

// newProbedContainers returns the sidecars and regular containers of a pod that have probes, each with new
// random delays. It adds nothing to the Prober.
func (pr *Prober) newProbedContainers(spec *v1.PodSpec) []probedContainer {
	var all []probedContainer
	add := func(c *v1.Container) {
		if !hasProbes(c) {
			return
		}
		f := probedContainer{spec: c}
		for k := range f.spread {
			f.spread[k] = pr.cfg.Jitter()
		}
		all = append(all, f)
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; podspec.IsSidecar(c) {
			add(c)
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return all
}

// addMissingProbesLocked adds the probes of a container that the pod does not have yet. A probe that exists
// keeps its settings (PR-1). If a check of a removed pod with the same UID has not returned, the new probe
// waits for it.
func (pr *Prober) addMissingProbesLocked(p *pod, probed probedContainer, now time.Time) {
	c := p.findContainer(probed.spec.Name)
	if c == nil {
		c = &container{pod: p, name: probed.spec.Name, ports: probed.spec.Ports, state: verdict.Make(pr.start)}
		p.containers = append(p.containers, c)
	}
	for k, spec := range probesByKind(probed.spec) {
		if spec == nil {
			continue
		}
		timing := verdict.FromProbe(spec)
		if !c.state.AddProbe(verdict.Kind(k), timing, probed.spread[k], now) {
			continue
		}
		added := &probe{container: c, kind: verdict.Kind(k), handler: &spec.ProbeHandler, timeout: timing.Timeout, position: -1}
		c.probes[k] = added
		for a := range pr.mu.attempts {
			if a.request.UID == p.uid && a.request.Container == c.name && a.request.Kind == added.kind {
				a.probe, added.unreturned = added, a
			}
		}
	}
}

// Observed is an observation of a pod's containers.
type Observed struct {
	PodIP string // the first address; empty if the pod has none yet
	// a missing container is unchanged; the Prober keeps the slice and only reads it
	Containers []Container
}

// Container is an observation of one container.
type Container struct {
	Name string
	// ID is the container ID as in the status of the pod; empty if the status has none. If an earlier
	// observation had an ID and Running, an empty ID means that the container has vanished. It is no
	// longer probed.
	ID        string
	Running   bool
	StartedAt time.Time // the start time, if it runs
	// Started and Ready are the published values. They are the initial verdicts of a container that
	// has started long before this process.
	Started, Ready bool
}

// toFacts converts an observation of a container to verdict.Facts.
func (c *Container) toFacts() verdict.Facts {
	return verdict.Facts{ID: c.ID, Running: c.Running, StartedAt: c.StartedAt, Started: c.Started, Ready: c.Ready}
}

// FromStatus returns the observation in a status. It is pure.
func FromStatus(s *v1.PodStatus) Observed {
	o := Observed{PodIP: s.PodIP, Containers: make([]Container, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses))}
	for _, list := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			o.Containers = append(o.Containers, containerFromStatus(&list[i]))
		}
	}
	return o
}

// containerFromStatus converts a container status to an observation of the container.
func containerFromStatus(s *v1.ContainerStatus) Container {
	c := Container{Name: s.Name, ID: s.ContainerID, Ready: s.Ready, Started: s.Started != nil && *s.Started}
	if r := s.State.Running; r != nil {
		c.Running, c.StartedAt = true, r.StartedAt.Time
	}
	return c
}
