package diff

import (
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Amend corrects a new status by an earlier one. It returns now itself if there is nothing to
// correct and a corrected copy otherwise; neither argument is modified. old may be nil.
//
// Two things are corrected. A container that had exited stays exited, even if the runtime reports
// another state later; revived has the IDs of such containers, for the log. A pod without a ready
// sandbox keeps its last addresses, so that they are still known after the pod has terminated.
func Amend(old, now *runtime.PodStatus) (amended *runtime.PodStatus, revived []string) {
	if old == nil {
		return now, nil
	}
	amended, revived = restoreExited(old, now)
	return restoreAddresses(old, amended, amended != now), revived
}

// restoreExited returns now, with each container that has exited in old but not in now replaced by its old
// status. It modifies a copy. revived has the IDs of these containers.
func restoreExited(old, now *runtime.PodStatus) (amended *runtime.PodStatus, revived []string) {
	amended = now
	for i := range now.Containers {
		c := &now.Containers[i]
		if c.State == runtime.StateExited {
			continue
		}
		j := slices.IndexFunc(old.Containers, func(o runtime.ContainerStatus) bool { return o.ID == c.ID })
		if j < 0 || old.Containers[j].State != runtime.StateExited {
			continue
		}
		if amended == now {
			amended = cloneWithSharedElements(now)
		}
		amended.Containers[i] = old.Containers[j]
		revived = append(revived, c.ID)
	}
	return amended, revived
}

// restoreAddresses returns now, with the IP addresses of the newest sandbox copied from old if now has none
// there. It copies them only if both sandboxes belong to the same incarnation (life) of the pod, now has no
// ready sandbox, and the newest one does not use the host network. It modifies a copy, or now itself if copied
// is true.
func restoreAddresses(old, now *runtime.PodStatus, copied bool) *runtime.PodStatus {
	if len(old.Sandboxes) == 0 || len(now.Sandboxes) == 0 {
		return now
	}
	was, is := &old.Sandboxes[0], &now.Sandboxes[0]
	if len(was.IPs) == 0 || len(is.IPs) != 0 || is.HostNetwork || was.Incarnation != is.Incarnation {
		return now
	}
	if slices.ContainsFunc(now.Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready }) {
		return now
	}
	if !copied {
		now = cloneWithSharedElements(now)
	}
	now.Sandboxes[0].IPs = was.IPs
	return now
}

// cloneWithSharedElements returns a copy of status with its own slices of sandboxes and containers. The
// elements' own slices and maps are shared.
func cloneWithSharedElements(status *runtime.PodStatus) *runtime.PodStatus {
	c := *status
	c.Sandboxes = slices.Clone(status.Sandboxes)
	c.Containers = slices.Clone(status.Containers)
	return &c
}
