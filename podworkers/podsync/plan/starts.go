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

// unpublishedStart is the last start of a container that the runtime was asked for and that the
// published status does not show yet. If the runtime loses the record before a status shows the
// start, nothing else shows it, and a container that may run once would run again.
type unpublishedStart struct {
	id        string
	attempt   uint32
	at        time.Time
	resources v1.ResourceRequirements // of the container as it was created
	observed  bool                    // the pod was observed after the start
}

// ProvesNotStarted reports whether the error of a start says that this call has not started the container:
// the runtime does not know it, or it was not as its record showed it. After any other error the
// container may run.
func ProvesNotStarted(err error) bool {
	return errors.Is(err, runtime.ErrNotFound) || errors.Is(err, runtime.ErrWrongState) || errors.Is(err, runtime.ErrExists)
}

// RecordObservation notes that the pod was observed after all steps so far. The executor calls it when it
// gets a newer status of the pod. Then a start that the published status does not show counts as
// published: a container without a record has vanished.
func (m Memory) RecordObservation() Memory {
	for name, s := range m.pasts.all() {
		if start := s.unpublished(); start != nil && !start.observed {
			past, seen := s.load(), *start
			seen.observed = true
			past.unpublished = &seen
			m.note(name, past)
		}
	}
	return m
}

// HasUnpublished reports whether a start is not published, although the pod was observed after it.
func (m Memory) HasUnpublished() bool {
	for _, s := range m.pasts.all() {
		if start := s.unpublished(); start != nil && start.observed {
			return true
		}
	}
	return false
}

// IsPostStartPending reports whether the PostStart hook of the container with an ID, as in a record
// or a status, has begun and has not succeeded.
func (m Memory) IsPostStartPending(name, id string) bool {
	pending := m.pasts.find(name).postStart()
	return pending != "" && (id == pending || strings.HasSuffix(id, "://"+pending))
}

// RecordPublished notes that a status of the pod is stored. The starts that it shows are forgotten.
func (m Memory) RecordPublished(status *v1.PodStatus) Memory {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			s := m.pasts.find(list[i].Name)
			if start := s.unpublished(); start != nil && start.observed && start.isShownBy(&list[i]) {
				past := s.load()
				past.unpublished = nil
				m.note(list[i].Name, past)
			}
		}
	}
	return m
}

// withStarts returns a published status with the unpublished starts. It returns the status itself if
// there are none, and does not change it. scheme is the scheme of container IDs.
func (m Memory) withStarts(published *v1.PodStatus, scheme string) *v1.PodStatus {
	if published == nil || !m.HasUnpublished() {
		return published
	}
	with := *published
	for _, list := range [...]*[]v1.ContainerStatus{&with.InitContainerStatuses, &with.ContainerStatuses, &with.EphemeralContainerStatuses} {
		*list = slices.Clone(*list)
		for i := range *list {
			c := &(*list)[i]
			if start := m.pasts.find(c.Name).unpublished(); start != nil && start.observed && !start.isShownBy(c) {
				start.addTo(c, scheme)
			}
		}
	}
	return &with
}

// isShownBy reports whether the status of a container shows the start, or a later attempt.
func (s *unpublishedStart) isShownBy(c *v1.ContainerStatus) bool {
	last, id := c.LastTerminationState.Terminated, "://"+s.id
	return strings.HasSuffix(c.ContainerID, id) && c.State.Waiting == nil || last != nil && strings.HasSuffix(last.ContainerID, id) ||
		int64(c.RestartCount) > int64(s.attempt)
}

// addTo changes the status of a container to one that shows the start.
func (s *unpublishedStart) addTo(c *v1.ContainerStatus, scheme string) {
	if end := c.State.Terminated; end != nil {
		c.LastTerminationState.Terminated = end
	}
	c.State = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: s.at.Truncate(time.Second)}}}
	c.ContainerID, c.RestartCount = scheme+"://"+s.id, int32(s.attempt)
	podstatus.SetReadinessUnknown(c)
	c.AllocatedResources, c.Resources = s.resources.Requests, s.resources.DeepCopy()
	if len(s.resources.Requests) == 0 && len(s.resources.Limits) == 0 {
		c.Resources = nil
	}
}

// hidePostStartPending makes the containers of a status whose PostStart hook has not succeeded not
// started: they run, and their probes have not begun.
func (m Memory) hidePostStartPending(status *v1.PodStatus) {
	for _, list := range [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if c := &list[i]; c.State.Running != nil && m.IsPostStartPending(c.Name, c.ContainerID) {
				podstatus.SetNotStarted(c)
			}
		}
	}
}

// forgetPostStart forgets a pending PostStart hook whose container has exited.
func (m *Memory) forgetPostStart(seen *runtime.PodStatus) {
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if s := m.pasts.find(c.Name); c.State == runtime.StateExited && s.postStart() != "" && s.postStart() == c.ID {
			past := s.load()
			past.postStart = ""
			m.note(c.Name, past)
		}
	}
}
