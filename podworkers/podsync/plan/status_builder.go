package plan

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// statusBuilder builds one container status. It has all of it in itself, so that
// it can be thrown away if it says nothing new.
type statusBuilder struct {
	said
	// What state and wasOver point out. The rest is of another container.
	running     v1.ContainerStateRunning
	waiting     v1.ContainerStateWaiting
	ended, last v1.ContainerStateTerminated
}

// said is what begins anew with each container.
type said struct {
	old                *v1.ContainerStatus // as published; nil: it was not
	spec               *v1.Container
	image, imageID, id string
	restarts           int32
	role               role
	state              state
	wasOver            bool // it has ended before
	replaced           bool // it was asked to end, and starts again
	away               bool // it is in an older sandbox than the pod's, which is fit to be used
	ready              podstatus.Readiness
	kept               bool // what is not said here is as it was published
	allocated          v1.ResourceList
	inForce            *v1.ResourceRequirements
}

// state is what a container does now.
type state uint8

const (
	nothingSaid state = iota
	isWaiting
	isRunning
	isOver
)

// parts is room for what a container status points to: all of a list have theirs
// in one piece.
type parts struct {
	running     v1.ContainerStateRunning
	waiting     v1.ContainerStateWaiting
	state, last v1.ContainerStateTerminated
	ready       podstatus.Readiness
}

// write makes the status of a container, in a place where there is none.
func (s *statusBuilder) write(to *v1.ContainerStatus, room *parts) {
	if s.kept {
		s.old.DeepCopyInto(to)
	}
	to.Name, to.Image, to.ImageID, to.ContainerID = s.spec.Name, s.image, s.imageID, s.id
	to.RestartCount = s.restarts
	to.AllocatedResources, to.Resources = s.allocated, s.inForce
	to.State, to.LastTerminationState = v1.ContainerState{}, v1.ContainerState{}
	switch s.state {
	case isRunning:
		room.running = s.running
		to.State.Running = &room.running
	case isWaiting:
		room.waiting = s.waiting
		to.State.Waiting = &room.waiting
	case isOver:
		room.state = s.ended
		to.State.Terminated = &room.state
	}
	if s.wasOver {
		room.last = s.last
		to.LastTerminationState.Terminated = &room.last
	}
	if s.role == ephemeral {
		podstatus.SetReadinessUnknown(to)
		return
	}
	room.ready = s.ready
	room.ready.WriteShared(to)
}

// repeats reports whether write would make again what was published.
func (s *statusBuilder) repeats() bool {
	old := s.old
	return !s.kept && isPlain(old) &&
		old.Name == s.spec.Name && old.Image == s.image && old.ImageID == s.imageID && old.ContainerID == s.id &&
		old.RestartCount == s.restarts && podstatus.ReadinessOf(old) == s.ready && (old.Started == nil) == (s.role == ephemeral) &&
		s.sameState(&old.State) && s.sameLast(&old.LastTerminationState) &&
		s.sameResources(old)
}

// isPlain reports whether a status says nothing that is not said here.
func isPlain(s *v1.ContainerStatus) bool {
	return s.VolumeMounts == nil && s.User == nil && s.AllocatedResourcesStatus == nil && s.StopSignal == nil
}

func (s *statusBuilder) sameState(old *v1.ContainerState) bool {
	switch s.state {
	case isRunning:
		return old.Running != nil && old.Waiting == nil && old.Terminated == nil && old.Running.StartedAt.Time.Equal(s.running.StartedAt.Time)
	case isWaiting:
		return old.Waiting != nil && old.Running == nil && old.Terminated == nil && *old.Waiting == s.waiting
	case isOver:
		return old.Terminated != nil && old.Running == nil && old.Waiting == nil && sameEnd(old.Terminated, &s.ended)
	}
	return *old == v1.ContainerState{}
}

func (s *statusBuilder) sameLast(old *v1.ContainerState) bool {
	if !s.wasOver || old.Terminated == nil {
		return !s.wasOver && *old == v1.ContainerState{}
	}
	return old.Running == nil && old.Waiting == nil && sameEnd(old.Terminated, &s.last)
}

func sameEnd(a, b *v1.ContainerStateTerminated) bool {
	return a.ExitCode == b.ExitCode && a.Signal == b.Signal && a.Reason == b.Reason && a.Message == b.Message &&
		a.ContainerID == b.ContainerID && a.StartedAt.Time.Equal(b.StartedAt.Time) && a.FinishedAt.Time.Equal(b.FinishedAt.Time)
}

func (s *statusBuilder) sameResources(old *v1.ContainerStatus) bool {
	if !sameList(old.AllocatedResources, s.allocated) || (old.Resources == nil) != (s.inForce == nil) {
		return false
	}
	return s.inForce == nil || len(old.Resources.Claims) == 0 && len(s.inForce.Claims) == 0 &&
		sameList(old.Resources.Requests, s.inForce.Requests) && sameList(old.Resources.Limits, s.inForce.Limits)
}

// sameList reports whether two lists have the same quantities, written alike.
func sameList(a, b v1.ResourceList) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if len(a) == 0 {
		return true
	}
	for name, x := range a {
		if y, ok := b[name]; !ok || !sameQuantity(x, y) {
			return false
		}
	}
	return true
}

func sameQuantity(x, y resource.Quantity) bool { return x.Format == y.Format && x.Cmp(y) == 0 }
