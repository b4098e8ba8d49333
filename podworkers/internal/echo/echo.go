package echo

import (
	"maps"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// News says what the runtime shows of a pod now that cannot be the echo of a failed
// attempt, which was shown before. Empty: nothing. Neither status is changed. A nil
// before is one that nobody knows, and everything is news.
func News(before, now *runtime.PodStatus) string {
	if before == nil {
		return "the pod was not seen before"
	}
	if now == nil {
		now = &runtime.PodStatus{}
	}
	for i := range now.Containers {
		if news := containerNews(find(before.Containers, now.Containers[i].ID), &now.Containers[i]); news != "" {
			return "container " + now.Containers[i].Name + " " + news
		}
	}
	for i := range before.Containers {
		c := &before.Containers[i]
		if c.State.MayRun() && find(now.Containers, c.ID) == nil {
			return "container " + c.Name + " has vanished"
		}
	}
	return sandboxNews(before, now)
}

func containerNews(old, c *runtime.ContainerStatus) string {
	switch {
	case c.State == runtime.StateCreated && (old == nil || old.State == runtime.StateCreated):
		return ""
	case old == nil || old.State != c.State:
		return "is " + c.State.String()
	case !same(old, c):
		return "has changed"
	}
	return ""
}

// same compares all that people are told of a container.
func same(a, b *runtime.ContainerStatus) bool {
	return a.Container == b.Container && a.Image == b.Image && a.ImageRef == b.ImageRef &&
		a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) &&
		a.ExitCode == b.ExitCode && a.Reason == b.Reason && a.Message == b.Message && maps.Equal(a.Annotations, b.Annotations)
}

func sandboxNews(before, now *runtime.PodStatus) string {
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

func find(list []runtime.ContainerStatus, id string) *runtime.ContainerStatus {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}
