package lifecycle

import (
	"maps"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeChange compares two observations of a pod whose sync has failed. It describes a change
// that the failed sync cannot have caused, or returns the empty string. Call EndBackoff only for
// such a change. A failed sync leaves a sandbox, or a container that was created and not started,
// and the next attempt would leave one again. So these changes do not end the backoff:
//
//   - a sandbox that appears;
//   - a container that appears and has not been started;
//   - a container that vanishes and was not running, and a sandbox that vanishes and was not ready.
//
// Every other change does. If the runtime's reply to a creation is lost, the new sandbox or
// container exists although the sync failed. It does not end the backoff; the sync requests an early
// retry with its error instead. A nil before means that there is no earlier observation: everything
// is a change. RuntimeChange modifies neither status.
func RuntimeChange(before, now *runtime.PodStatus) string {
	if before == nil {
		return "the pod was not seen before"
	}
	if now == nil {
		now = &runtime.PodStatus{}
	}
	for i := range now.Containers {
		if change := describeContainerChange(findContainerByID(before.Containers, now.Containers[i].ID), &now.Containers[i]); change != "" {
			return "container " + now.Containers[i].Name + " " + change
		}
	}
	for i := range before.Containers {
		c := &before.Containers[i]
		if c.State.MayRun() && findContainerByID(now.Containers, c.ID) == nil {
			return "container " + c.Name + " has vanished"
		}
	}
	return describeSandboxChange(before, now)
}

// describeContainerChange describes the change of a container from old to c. A nil old says that the container
// is new. It returns "" if there is no change. A container that was only created counts as no change, whether
// it is new or was already created before.
func describeContainerChange(old, c *runtime.ContainerStatus) string {
	switch {
	case c.State == runtime.StateCreated && (old == nil || old.State == runtime.StateCreated):
		return ""
	case old == nil || old.State != c.State:
		return "is " + c.State.String()
	case !equalContainerStatus(old, c):
		return "has changed"
	}
	return ""
}

// equalContainerStatus reports whether two container statuses are equal apart from their state.
func equalContainerStatus(a, b *runtime.ContainerStatus) bool {
	return a.Container == b.Container && a.Image == b.Image && a.ImageRef == b.ImageRef &&
		a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) &&
		a.ExitCode == b.ExitCode && a.Reason == b.Reason && a.Message == b.Message && maps.Equal(a.Annotations, b.Annotations)
}

// describeSandboxChange describes the first change of a sandbox of before, or returns the empty string. New
// sandboxes, and the removal of a sandbox that was not ready, are no changes.
func describeSandboxChange(before, now *runtime.PodStatus) string {
	for i := range before.Sandboxes {
		old := &before.Sandboxes[i]
		var s *runtime.SandboxStatus
		for j := range now.Sandboxes {
			if now.Sandboxes[j].ID == old.ID {
				s = &now.Sandboxes[j]
			}
		}
		switch {
		case s == nil && old.Ready:
			return "a sandbox has vanished"
		case s == nil:
		case s.Ready != old.Ready && s.Ready:
			return "a sandbox is ready again"
		case s.Ready != old.Ready:
			return "a sandbox is not ready any more"
		case s.HostNetwork != old.HostNetwork || !slices.Equal(s.IPs, old.IPs):
			return "a sandbox has changed"
		}
	}
	return ""
}

// findContainerByID returns a pointer into list to the container with the ID, or nil.
func findContainerByID(list []runtime.ContainerStatus, id string) *runtime.ContainerStatus {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}
