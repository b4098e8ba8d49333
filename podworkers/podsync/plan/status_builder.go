package plan

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// statusBuilder builds one container status. It holds all values, so that the caller can discard it
// if the published status already shows them.
type statusBuilder struct {
	statusFields
	// Only the fields that state and hasLast select are valid. The others belong to the previous
	// container.
	running                    v1.ContainerStateRunning
	waiting                    v1.ContainerStateWaiting
	terminated, lastTerminated v1.ContainerStateTerminated
}

// statusFields has the values of a statusBuilder that start empty for each container.
type statusFields struct {
	old                *v1.ContainerStatus // the published status, or nil
	spec               *v1.Container
	image, imageID, id string
	restarts           int32
	role               containerRole
	state              containerState
	hasLast            bool // lastTerminated is set
	replaced           bool // it was stopped for its next attempt
	inOlderSandbox     bool // it is in an older sandbox, while the current one is kept
	readiness          podstatus.Readiness
	keepsPublished     bool // all other fields stay as published
	allocated          v1.ResourceList
	inForce            *v1.ResourceRequirements
	recursiveReadOnly  bool // the runtime supports recursive read-only mounts
	user               *runtime.LinuxContainerUser
}

// containerState is the state of a container in its status.
type containerState uint8

const (
	stateUnset containerState = iota
	stateWaiting
	stateRunning
	stateTerminated
)

// statusBuffer holds the structs that a container status points to. One slice of them serves a
// whole list.
type statusBuffer struct {
	running     v1.ContainerStateRunning
	waiting     v1.ContainerStateWaiting
	state, last v1.ContainerStateTerminated
	ready       podstatus.Readiness
}

// writeTo writes the computed status into an empty ContainerStatus. The pointers in it point into buffer.
func (s *statusBuilder) writeTo(status *v1.ContainerStatus, buffer *statusBuffer) {
	if s.keepsPublished {
		s.old.DeepCopyInto(status)
	} else {
		status.VolumeMounts, status.User = s.volumeMounts(), s.containerUser()
	}
	status.Name, status.Image, status.ImageID, status.ContainerID = s.spec.Name, s.image, s.imageID, s.id
	status.RestartCount = s.restarts
	status.AllocatedResources, status.Resources = s.allocated, s.inForce
	status.State, status.LastTerminationState = v1.ContainerState{}, v1.ContainerState{}
	switch s.state {
	case stateRunning:
		buffer.running = s.running
		status.State.Running = &buffer.running
	case stateWaiting:
		buffer.waiting = s.waiting
		status.State.Waiting = &buffer.waiting
	case stateTerminated:
		buffer.state = s.terminated
		status.State.Terminated = &buffer.state
	}
	if s.hasLast {
		buffer.last = s.lastTerminated
		status.LastTerminationState.Terminated = &buffer.last
	}
	if s.role == ephemeral {
		podstatus.SetReadinessUnknown(status)
		return
	}
	buffer.ready = s.readiness
	buffer.ready.WriteShared(status)
}

// equalsPublished reports whether writeTo would write a status equal to the published one. It returns false
// without a comparison if the builder keeps a published status.
func (s *statusBuilder) equalsPublished() bool {
	old := s.old
	return !s.keepsPublished && hasNoOtherFields(old) && s.hasSameVolumeMounts() && s.hasSameUser() &&
		old.Name == s.spec.Name && old.Image == s.image && old.ImageID == s.imageID && old.ContainerID == s.id &&
		old.RestartCount == s.restarts && podstatus.ReadinessOf(old) == s.readiness && (old.Started == nil) == (s.role == ephemeral) &&
		s.hasSameState(&old.State) && s.hasSameLastState(&old.LastTerminationState) &&
		s.hasSameResources(old)
}

// hasNoOtherFields reports whether a container status has only fields that statusBuilder can set.
func hasNoOtherFields(s *v1.ContainerStatus) bool {
	return s.AllocatedResourcesStatus == nil && s.StopSignal == nil
}

// keepsPublishedMounts reports whether the published list of mounts stays: the published status has the ID of a
// container, and the list has as many mounts as the spec. Before the first container exists, the runtime handler may not
// be known.
func (s *statusBuilder) keepsPublishedMounts() bool {
	return s.old != nil && s.old.ContainerID != "" && len(s.old.VolumeMounts) == len(s.spec.VolumeMounts)
}

// hasSameVolumeMounts reports whether volumeMounts would return a list equal to the published one.
func (s *statusBuilder) hasSameVolumeMounts() bool {
	return s.keepsPublishedMounts() || reflect.DeepEqual(s.old.VolumeMounts, s.volumeMounts())
}

// volumeMounts returns the mounts of the container for its status (CS-15). It returns nil for a container without mounts.
func (s *statusBuilder) volumeMounts() []v1.VolumeMountStatus {
	mounts := s.spec.VolumeMounts
	if s.keepsPublishedMounts() {
		return s.old.VolumeMounts
	}
	var list []v1.VolumeMountStatus
	for i := range mounts {
		mount := v1.VolumeMountStatus{Name: mounts[i].Name, MountPath: mounts[i].MountPath, ReadOnly: mounts[i].ReadOnly}
		if mount.ReadOnly {
			mount.RecursiveReadOnly = new(s.recursiveReadOnlyMode(&mounts[i]))
		}
		list = append(list, mount)
	}
	return list
}

// recursiveReadOnlyMode returns whether the mounts below a read-only mount are read-only too: Enabled if the mount
// requests it and the runtime supports it, and Disabled otherwise. It is Disabled too if the mount is propagated, which
// an API server rejects.
func (s *statusBuilder) recursiveReadOnlyMode(m *v1.VolumeMount) v1.RecursiveReadOnlyMode {
	requested := m.RecursiveReadOnly != nil && (*m.RecursiveReadOnly == v1.RecursiveReadOnlyEnabled || *m.RecursiveReadOnly == v1.RecursiveReadOnlyIfPossible)
	propagated := m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone
	if requested && !propagated && s.recursiveReadOnly {
		return v1.RecursiveReadOnlyEnabled
	}
	return v1.RecursiveReadOnlyDisabled
}

// hasSameState reports whether the published state equals the computed state.
func (s *statusBuilder) hasSameState(old *v1.ContainerState) bool {
	switch s.state {
	case stateRunning:
		return old.Running != nil && old.Waiting == nil && old.Terminated == nil && old.Running.StartedAt.Time.Equal(s.running.StartedAt.Time)
	case stateWaiting:
		return old.Waiting != nil && old.Running == nil && old.Terminated == nil && *old.Waiting == s.waiting
	case stateTerminated:
		return old.Terminated != nil && old.Running == nil && old.Waiting == nil && equalTerminations(old.Terminated, &s.terminated)
	}
	return *old == v1.ContainerState{}
}

// hasSameLastState reports whether the published last state equals the computed last termination. Both may be
// empty.
func (s *statusBuilder) hasSameLastState(old *v1.ContainerState) bool {
	if !s.hasLast || old.Terminated == nil {
		return !s.hasLast && *old == v1.ContainerState{}
	}
	return old.Running == nil && old.Waiting == nil && equalTerminations(old.Terminated, &s.lastTerminated)
}

// equalTerminations reports whether all fields of two termination states are equal.
func equalTerminations(a, b *v1.ContainerStateTerminated) bool {
	return a.ExitCode == b.ExitCode && a.Signal == b.Signal && a.Reason == b.Reason && a.Message == b.Message &&
		a.ContainerID == b.ContainerID && a.StartedAt.Time.Equal(b.StartedAt.Time) && a.FinishedAt.Time.Equal(b.FinishedAt.Time)
}

// hasSameResources reports whether the published resources equal the computed ones. Resources with claims never
// count as equal.
func (s *statusBuilder) hasSameResources(old *v1.ContainerStatus) bool {
	if !equalResourceListsAndFormats(old.AllocatedResources, s.allocated) || (old.Resources == nil) != (s.inForce == nil) {
		return false
	}
	return s.inForce == nil || len(old.Resources.Claims) == 0 && len(s.inForce.Claims) == 0 &&
		equalResourceListsAndFormats(old.Resources.Requests, s.inForce.Requests) && equalResourceListsAndFormats(old.Resources.Limits, s.inForce.Limits)
}

// equalResourceListsAndFormats reports whether two lists have equal quantities in the same formats. A nil list and an
// empty list are different.
func equalResourceListsAndFormats(a, b v1.ResourceList) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if len(a) == 0 {
		return true
	}
	for name, x := range a {
		if y, ok := b[name]; !ok || !equalQuantities(x, y) {
			return false
		}
	}
	return true
}

// equalQuantities reports whether two quantities are equal and have the same format.
func equalQuantities(x, y resource.Quantity) bool { return x.Format == y.Format && x.Cmp(y) == 0 }
