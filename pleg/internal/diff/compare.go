package diff

import (
	"maps"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Events is a set of changes of a pod.
type Events uint8

// The events. A pod's events of several comparisons are merged with |.
const (
	// Started: a container or sandbox is running now.
	Started Events = 1 << iota
	// Died: a container or sandbox has exited, or has vanished before it was seen to exit.
	Died
	// Removed: a container or sandbox has vanished.
	Removed
	// Changed: something else about the pod has changed.
	Changed
)

// Compare applies the event table to every record of two lists from Items. It returns 0 if no
// record has a change with an event.
func Compare(old, now []Item) Events {
	var events Events
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].ID < now[0].ID:
			events |= eventsFor(old[0].State, Absent)
			old = old[1:]
		case len(old) == 0 || now[0].ID < old[0].ID:
			events |= eventsFor(Absent, now[0].State)
			now = now[1:]
		default:
			events |= eventsFor(old[0].State, now[0].State)
			old, now = old[1:], now[1:]
		}
	}
	return events
}

// eventsFor returns the events for a sandbox or container whose state changes from old to now (B-178). It
// returns 0 if the state stays or becomes Unknown.
func eventsFor(old, now State) Events {
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

// Equal reports whether two statuses are equal. Nil is equal to a status without records.
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

// Empty reports whether a status has no record: the pod does not exist.
func Empty(status *runtime.PodStatus) bool {
	return status == nil || len(status.Sandboxes) == 0 && len(status.Containers) == 0
}

// equalSandbox reports whether two sandbox statuses are equal.
func equalSandbox(a, b runtime.SandboxStatus) bool {
	return a.ID == b.ID && a.Attempt == b.Attempt && a.Incarnation == b.Incarnation && a.Ready == b.Ready &&
		a.HostNetwork == b.HostNetwork && a.CreatedAt.Equal(b.CreatedAt) &&
		slices.Equal(a.IPs, b.IPs) && maps.Equal(a.Annotations, b.Annotations)
}

// equalContainer reports whether two container statuses are equal.
func equalContainer(a, b runtime.ContainerStatus) bool {
	return a.Container == b.Container &&
		a.Image == b.Image && a.ImageRef == b.ImageRef &&
		a.CreatedAt.Equal(b.CreatedAt) && a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) &&
		a.ExitCode == b.ExitCode && a.StartCancelled == b.StartCancelled && a.Reason == b.Reason && a.Message == b.Message &&
		maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.MountedImages, b.MountedImages) &&
		equalResources(a.Resources, b.Resources) && a.User.Equal(b.User)
}

// equalResources reports whether two reported resources are equal, or both are nil.
func equalResources(a, b *runtime.Resources) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.CPUShares == b.CPUShares && a.CPUPeriod == b.CPUPeriod && a.CPUQuota == b.CPUQuota && a.CPUSet == b.CPUSet &&
		a.MemoryBytes == b.MemoryBytes && a.SwapBytes == b.SwapBytes && a.MemorySet == b.MemorySet &&
		a.OOMScoreAdj == b.OOMScoreAdj && a.PIDs == b.PIDs && maps.Equal(a.HugePages, b.HugePages)
}
