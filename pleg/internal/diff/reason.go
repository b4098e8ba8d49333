package diff

import (
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// reasonOOM is the reason that a runtime may report later than the exit.
const reasonOOM = "OOMKilled"

// ReasonMayFollow reports whether a container has failed since an earlier status and the runtime
// may still add the reason: it may report an OOM kill later than the exit. Without an earlier
// status it returns false, because the container may have exited long ago.
func ReasonMayFollow(old, now *runtime.PodStatus) bool {
	if old == nil {
		return false
	}
	return slices.ContainsFunc(now.Containers, func(c runtime.ContainerStatus) bool {
		if c.State != runtime.StateExited || c.ExitCode == 0 || c.Reason == reasonOOM {
			return false
		}
		return !slices.ContainsFunc(old.Containers, func(o runtime.ContainerStatus) bool {
			return o.ID == c.ID && o.State == runtime.StateExited
		})
	})
}

// OnlyLost reports whether a status differs from an earlier one only by missing records.
func OnlyLost(old, now *runtime.PodStatus) bool {
	if old == nil || now == nil {
		return true
	}
	left := cloneWithSharedElements(old)
	left.Sandboxes = slices.DeleteFunc(left.Sandboxes, func(s runtime.SandboxStatus) bool {
		return !slices.ContainsFunc(now.Sandboxes, func(n runtime.SandboxStatus) bool { return n.ID == s.ID })
	})
	left.Containers = slices.DeleteFunc(left.Containers, func(c runtime.ContainerStatus) bool {
		return !slices.ContainsFunc(now.Containers, func(n runtime.ContainerStatus) bool { return n.ID == c.ID })
	})
	return Equal(left, now)
}
