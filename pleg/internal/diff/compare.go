package diff

import (
	"maps"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Events is a set of what has happened to a pod.
type Events uint8

// The events. A pod's events of several comparisons are merged with |.
const (
	// Started: a container or sandbox runs now.
	Started Events = 1 << iota
	// Died: one has exited, or vanished without having been seen to exit.
	Died
	// Removed: one has vanished.
	Removed
	// Changed: something else about the pod is different.
	Changed
)

// Compare applies the event table to every record of two item lists as Items
// makes them. No event means that no record differs in a way that has one.
func Compare(old, now []Item) Events {
	var events Events
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].ID < now[0].ID:
			events |= transition(old[0].State, Absent)
			old = old[1:]
		case len(old) == 0 || now[0].ID < old[0].ID:
			events |= transition(Absent, now[0].State)
			now = now[1:]
		default:
			events |= transition(old[0].State, now[0].State)
			old, now = old[1:], now[1:]
		}
	}
	return events
}

// transition is the event table (B-178). What becomes unknown has no event
// here: that the status changed at all is the caller's to see.
func transition(old, now State) Events {
	switch {
	case old == now:
		return 0
	case now == Running:
		return Started
	case now == Exited:
		return Died
	case now == Absent && old == Exited:
		return Removed
	case now == Absent:
		return Died | Removed
	}
	return 0
}

// Equal reports whether two statuses say the same. No status at all says the
// same as one without records.
func Equal(a, b *runtime.PodStatus) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return Empty(a) && Empty(b)
	}
	return a.UID == b.UID && a.Name == b.Name && a.Namespace == b.Namespace &&
		slices.EqualFunc(a.Sandboxes, b.Sandboxes, equalSandbox) &&
		slices.EqualFunc(a.Containers, b.Containers, equalContainer)
}

// Empty reports whether a status shows no record: the pod does not exist.
func Empty(status *runtime.PodStatus) bool {
	return status == nil || len(status.Sandboxes) == 0 && len(status.Containers) == 0
}

func equalSandbox(a, b runtime.SandboxStatus) bool {
	return a.ID == b.ID && a.Attempt == b.Attempt && a.Incarnation == b.Incarnation && a.Ready == b.Ready &&
		a.HostNetwork == b.HostNetwork && a.CreatedAt.Equal(b.CreatedAt) &&
		slices.Equal(a.IPs, b.IPs) && maps.Equal(a.Annotations, b.Annotations)
}

func equalContainer(a, b runtime.ContainerStatus) bool {
	return a.Container == b.Container &&
		a.Image == b.Image && a.ImageRef == b.ImageRef &&
		a.CreatedAt.Equal(b.CreatedAt) && a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) &&
		a.ExitCode == b.ExitCode && a.StartCancelled == b.StartCancelled && a.Reason == b.Reason && a.Message == b.Message &&
		maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.MountedImages, b.MountedImages)
}
