package diff

import (
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Amend corrects a status just read by what an earlier one showed. It returns
// now itself if there is nothing to correct and an amended copy otherwise:
// neither argument is changed. old may be nil.
//
// Two things are corrected. A container that had exited stays as it was seen
// to exit, whatever the runtime says later; back names those, for the
// log. And a pod that has lost its addresses keeps the last ones it had, until
// it has a ready sandbox again: a reader of a pod that has ended still learns its addresses.
func Amend(old, now *runtime.PodStatus) (amended *runtime.PodStatus, back []string) {
	if old == nil {
		return now, nil
	}
	amended, back = keepExited(old, now)
	return keepAddresses(old, amended, amended != now), back
}

func keepExited(old, now *runtime.PodStatus) (*runtime.PodStatus, []string) {
	amended := now
	var back []string
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
			amended = clone(now)
		}
		amended.Containers[i] = old.Containers[j]
		back = append(back, c.ID)
	}
	return amended, back
}

// keepAddresses carries the addresses of the newest sandbox over. own says
// that now is a copy already.
func keepAddresses(old, now *runtime.PodStatus, own bool) *runtime.PodStatus {
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
	if !own {
		now = clone(now)
	}
	now.Sandboxes[0].IPs = was.IPs
	return now
}

// clone copies a status as deep as Amend writes.
func clone(status *runtime.PodStatus) *runtime.PodStatus {
	c := *status
	c.Sandboxes = slices.Clone(status.Sandboxes)
	c.Containers = slices.Clone(status.Containers)
	return &c
}
