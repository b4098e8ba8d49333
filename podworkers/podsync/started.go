package podsync

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
)

// started is the last start of a container that the runtime was asked for in this
// life, and that may have taken place. The published status does not tell of it
// before the next look. If the runtime loses the record until then nothing else does,
// and a container that runs once would run again.
type started struct {
	id      string
	attempt uint32
	at      time.Time
	look    uint64 // the looks at the pod before it
	// resources are those that it was made with.
	resources v1.ResourceRequirements
}

// starts are those of the containers of a pod.
type starts struct {
	last  map[string]*started // by container; nil if there are none
	looks uint64              // how often the pod was looked at
	// postStartPending are containers, by ID, that were started and whose PostStart
	// hook is not known to have been a success.
	postStartPending map[string]bool
}

// noteStart remembers that the runtime is asked for a start.
func (p *syncPass) noteStart(c *v1.Container, id string, attempt uint32, now time.Time) {
	if p.incarnation.starts.last == nil {
		p.incarnation.starts.last = make(map[string]*started)
	}
	p.incarnation.starts.last[c.Name] = &started{id: id, attempt: attempt, at: now, look: p.incarnation.starts.looks, resources: *c.Resources.DeepCopy()}
}

// forget drops the start of a container. A pod that is as it is told to be keeps no map: most
// pods of a node are.
func (s *starts) forget(container string) {
	if delete(s.last, container); len(s.last) == 0 {
		s.last = nil
	}
}

// forgetStart drops the start of a container, if that is the last one: it has not
// taken place. Kills that are made in parallel may call it at once.
func (p *syncPass) forgetStart(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, begun := range p.incarnation.starts.last {
		if begun.id == id {
			p.incarnation.starts.forget(name)
		}
	}
}

// neverRan reports whether the error of a start says that this call has not started
// the container: the runtime did not know it, or it was not as it was seen. After any
// other the record tells; if that is gone nobody knows.
func neverRan(err error) bool {
	return errors.Is(err, runtime.ErrNotFound) || errors.Is(err, runtime.ErrWrongState) || errors.Is(err, runtime.ErrExists)
}

// addStarted adds to a published status the starts that it does not tell of, as far as
// the runtime was looked at since: a container with a record is what that says, and one
// without has vanished.
func (p *syncPass) addStarted(status *v1.PodStatus) {
	p.eachUntold(status, func(c *v1.ContainerStatus, begun *started) {
		if !p.tells(c, begun) {
			p.addStart(c, begun)
			c.AllocatedResources, c.Resources = begun.resources.Requests, &begun.resources
			if len(begun.resources.Requests) == 0 && len(begun.resources.Limits) == 0 {
				c.Resources = nil
			}
		}
	})
}

// forgetTold drops the starts that what is stored of a pod tells of.
func (p *syncPass) forgetTold() {
	if !p.untold() {
		return
	}
	if stored, ok := p.storedStatus(); ok {
		p.eachUntold(&stored, func(c *v1.ContainerStatus, begun *started) {
			if p.tells(c, begun) {
				p.incarnation.starts.forget(c.Name)
			}
		})
	}
}

// eachUntold calls do with the status of each container that was started and that was
// looked at since.
func (p *syncPass) eachUntold(status *v1.PodStatus, do func(*v1.ContainerStatus, *started)) {
	if len(p.incarnation.starts.last) == 0 {
		return
	}
	for _, list := range [...][]v1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			if begun, ok := p.incarnation.starts.last[list[i].Name]; ok && begun.look < p.incarnation.starts.looks {
				do(&list[i], begun)
			}
		}
	}
}

// tells reports whether the status of a container tells of a start, or of what came
// after it.
func (s *Syncer) tells(c *v1.ContainerStatus, begun *started) bool {
	id, last := s.cfg.RuntimeName+"://"+begun.id, c.LastTerminationState.Terminated
	return c.ContainerID == id && c.State.Waiting == nil || last != nil && last.ContainerID == id || int64(c.RestartCount) > int64(begun.attempt)
}

func (s *Syncer) addStart(c *v1.ContainerStatus, begun *started) {
	if end := c.State.Terminated; end != nil {
		c.LastTerminationState.Terminated = end
	}
	c.State = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: begun.at.Truncate(time.Second)}}}
	c.ContainerID, c.RestartCount, c.Started, c.Ready = s.cfg.RuntimeName+"://"+begun.id, int32(begun.attempt), nil, false
}

// untold reports whether there may be starts that the published status does not tell of.
func (p *syncPass) untold() bool {
	for _, begun := range p.incarnation.starts.last {
		if begun.look < p.incarnation.starts.looks {
			return true
		}
	}
	return false
}
