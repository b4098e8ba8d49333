package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// pod is what is known of a pod. All of it is guarded by the prober's lock,
// but for what is not changed once it is made: uid and spec, and the fixed
// parts of containers and probes.
type pod struct {
	uid        types.UID
	spec       *v1.Pod // as first added; nil: seen, and not added yet
	containers []*container
	ip         string
	seen       []Container // as last observed: for probes that are added later
	heard      uint64      // how often it was added or observed
}

// container has the probes of one container.
type container struct {
	pod    *pod
	name   string
	ports  []v1.ContainerPort
	state  verdict.Container
	probes [verdict.Kinds]*probe // nil: there is none
}

// probe is one probe and its place among the due ones.
type probe struct {
	container *container
	kind      verdict.Kind
	handler   *v1.ProbeHandler
	timeout   time.Duration

	due   time.Time
	seq   uint64
	place int  // in the schedule; -1: not there
	slow  bool // the last attempt ran into its timeout

	running *attempt // nil: none is, or it is of no interest any more
}

// probesOf are a container's probes by kind.
func probesOf(c *v1.Container) [verdict.Kinds]*v1.Probe {
	return [verdict.Kinds]*v1.Probe{verdict.Liveness: c.LivenessProbe, verdict.Readiness: c.ReadinessProbe, verdict.Startup: c.StartupProbe}
}

// hasProbes reports whether a container has any.
func hasProbes(c *v1.Container) bool {
	return c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
}

// find is the container with the name, or nil.
func (p *pod) find(name string) *container {
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

// found is a container with probes in the spec of a pod, and the random parts
// of their first periods.
type found struct {
	spec   *v1.Container
	spread [verdict.Kinds]float64
}

// probedContainers are the containers of a pod that have probes, in order.
func (pr *Prober) probedContainers(spec *v1.PodSpec) []found {
	var all []found
	add := func(c *v1.Container) {
		if !hasProbes(c) {
			return
		}
		f := found{spec: c}
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

// add adds the probes of a container that are not there yet (PR-1).
func (p *pod) add(f found, agentStart, now time.Time) {
	c := p.find(f.spec.Name)
	if c == nil {
		c = &container{pod: p, name: f.spec.Name, ports: f.spec.Ports, state: verdict.Make(agentStart)}
		p.containers = append(p.containers, c)
	}
	for k, spec := range probesOf(f.spec) {
		if spec == nil {
			continue
		}
		timing := verdict.FromProbe(spec)
		if c.state.Add(verdict.Kind(k), timing, f.spread[k], now) {
			c.probes[k] = &probe{
				container: c, kind: verdict.Kind(k), handler: &spec.ProbeHandler, timeout: timing.Timeout, place: -1,
			}
		}
	}
}

// Observed is what is known of a pod's containers at a moment.
type Observed struct {
	PodIP      string      // the first address; empty if there is none yet
	Containers []Container // what is missing is as it was; kept and only read
}

// Container is what is known of one container.
type Container struct {
	Name string
	// ID as in the pod's status. Empty: there is none now. Of one that has not
	// run yet that changes nothing; one that ran has vanished, and is not
	// probed any more.
	ID        string
	Running   bool
	StartedAt time.Time // if it runs
	// Started and Ready are what was published of it. They are believed of a
	// container that has started long before this process.
	Started, Ready bool
}

func (c *Container) facts() verdict.Facts {
	return verdict.Facts{ID: c.ID, Running: c.Running, StartedAt: c.StartedAt, Started: c.Started, Ready: c.Ready}
}

// FromStatus is the observation that a status holds. It is pure.
func FromStatus(s *v1.PodStatus) Observed {
	o := Observed{PodIP: s.PodIP, Containers: make([]Container, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses))}
	for _, list := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			o.Containers = append(o.Containers, fromContainerStatus(&list[i]))
		}
	}
	return o
}

func fromContainerStatus(s *v1.ContainerStatus) Container {
	c := Container{Name: s.Name, ID: s.ContainerID, Ready: s.Ready, Started: s.Started != nil && *s.Started}
	if r := s.State.Running; r != nil {
		c.Running, c.StartedAt = true, r.StartedAt.Time
	}
	return c
}
