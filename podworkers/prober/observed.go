package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

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
