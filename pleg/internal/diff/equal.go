package diff

import (
	"maps"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

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
		a.ExitCode == b.ExitCode && a.Reason == b.Reason && a.Message == b.Message &&
		maps.Equal(a.Annotations, b.Annotations)
}
