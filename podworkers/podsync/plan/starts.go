package plan

import (
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// unpublishedStart is the last start of a container that the published status does not show yet. If
// the runtime loses the record before a status shows the start, only this value proves that the
// container has run. Without it a container with restart policy Never would run twice.
type unpublishedStart struct {
	id        string
	attempt   uint32
	at        time.Time
	resources v1.ResourceRequirements // the resources with which the container was created
	observed  bool                    // the executor has inspected the pod after the start
}

// ProvesNotStarted reports whether the error of a start proves that the container was not started:
// the runtime does not have the container, or the container was in another state. After any other
// error the container may run.
func ProvesNotStarted(err error) bool {
	return errors.Is(err, runtime.ErrNotFound) || errors.Is(err, runtime.ErrWrongState) || errors.Is(err, runtime.ErrExists)
}

// RecordObservation records that the executor has read the records of the pod after all steps so
// far. From then on Decide and Status use each recorded start as if it were published. If such a
// container has no record, the runtime has lost it.
func (m Memory) RecordObservation() Memory {
	for name, s := range m.containers.iterateInOrderOfNames() {
		if start := s.findUnpublishedStart(); start != nil && !start.observed {
			past, seen := s.toContainerMemory(), *start
			seen.observed = true
			past.unpublished = &seen
			m.setContainer(name, past)
		}
	}
	return m
}

// HasUnpublishedStart reports whether a container was started whose start the published status does
// not show. Only starts before the last RecordObservation count.
func (m Memory) HasUnpublishedStart() bool {
	for _, s := range m.containers.iterateInOrderOfNames() {
		if start := s.findUnpublishedStart(); start != nil && start.observed {
			return true
		}
	}
	return false
}

// IsPostStartPending reports whether the postStart hook of a container has begun and has not
// succeeded. The ID comes from a record or from a status.
func (m Memory) IsPostStartPending(name, id string) bool {
	pending := m.containers.findCompact(name).pendingPostStartID()
	return pending != "" && (id == pending || strings.HasSuffix(id, "://"+pending))
}

// RecordPublished records that the executor has stored a status of the pod. It forgets the starts
// that this status shows.
func (m Memory) RecordPublished(status *v1.PodStatus) Memory {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			s := m.containers.findCompact(list[i].Name)
			if start := s.findUnpublishedStart(); start != nil && start.observed && start.isShownBy(&list[i]) {
				past := s.toContainerMemory()
				past.unpublished = nil
				m.setContainer(list[i].Name, past)
			}
		}
	}
	return m
}

// withUnpublishedStarts returns the published status with the starts that it does not show yet. It never
// changes the given status, and returns the same pointer if it has nothing to add. A start counts only if the
// executor has inspected the pod since. scheme is the scheme of container IDs.
func (m Memory) withUnpublishedStarts(published *v1.PodStatus, scheme string) *v1.PodStatus {
	if published == nil || !m.HasUnpublishedStart() {
		return published
	}
	with := *published
	for _, list := range [...]*[]v1.ContainerStatus{&with.InitContainerStatuses, &with.ContainerStatuses, &with.EphemeralContainerStatuses} {
		*list = slices.Clone(*list)
		for i := range *list {
			c := &(*list)[i]
			if start := m.containers.findCompact(c.Name).findUnpublishedStart(); start != nil && start.observed && !start.isShownBy(c) {
				start.setRunningAndMoveTermination(c, scheme)
			}
		}
	}
	return &with
}

// isShownBy reports whether the published status of a container shows this start, as the current or the last
// attempt, or has a restart count above this attempt.
func (s *unpublishedStart) isShownBy(c *v1.ContainerStatus) bool {
	last, id := c.LastTerminationState.Terminated, "://"+s.id
	return strings.HasSuffix(c.ContainerID, id) && c.State.Waiting == nil || last != nil && strings.HasSuffix(last.ContainerID, id) ||
		int64(c.RestartCount) > int64(s.attempt)
}

// setRunningAndMoveTermination changes the status of a container to show this start as running, with unknown
// readiness. A current termination becomes the last termination. If the status already shows this container as
// created, its user and its resources stay, because an earlier process of the agent may have created the container
// before a resize. Otherwise the published user is the user of another container, so it is removed.
func (s *unpublishedStart) setRunningAndMoveTermination(c *v1.ContainerStatus, scheme string) {
	if end := c.State.Terminated; end != nil {
		c.LastTerminationState.Terminated = end
	}
	c.State = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: s.at.Truncate(time.Second)}}}
	wasCreated := strings.HasSuffix(c.ContainerID, "://"+s.id)
	c.ContainerID, c.RestartCount = scheme+"://"+s.id, int32(s.attempt)
	podstatus.SetReadinessUnknown(c)
	c.AllocatedResources = s.resources.Requests
	if wasCreated {
		return
	}
	c.Resources, c.User = s.resources.DeepCopy(), nil
}

// setNotStartedWhilePostStartPending sets Started and Ready to false, in status, for each running container
// whose postStart hook has not succeeded yet.
func (m Memory) setNotStartedWhilePostStartPending(status *v1.PodStatus) {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if c := &list[i]; c.State.Running != nil && m.IsPostStartPending(c.Name, c.ContainerID) {
				podstatus.SetNotStarted(c)
			}
		}
	}
}

// forgetExitedPostStart clears, in the memory, the pending postStart hook of each container that has exited.
func (m *Memory) forgetExitedPostStart(seen *runtime.PodStatus) {
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if s := m.containers.findCompact(c.Name); c.State == runtime.StateExited && s.pendingPostStartID() != "" && s.pendingPostStartID() == c.ID {
			past := s.toContainerMemory()
			past.postStart = ""
			m.setContainer(c.Name, past)
		}
	}
}
