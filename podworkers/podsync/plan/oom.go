package plan

import "github.com/podkeel/podkeel/podmanager/podresources"

// OOMLimit names the limit of memory that was reached when the kernel killed a process.
type OOMLimit string

const (
	// OOMLimitUnknown means that the counters do not show the limit.
	OOMLimitUnknown OOMLimit = ""
	// OOMLimitContainer is the memory limit of the container that lost a process.
	OOMLimitContainer OOMLimit = "container"
	// OOMLimitPod is the memory limit of the whole pod.
	OOMLimitPod OOMLimit = "pod"
	// OOMLimitNode is the memory of the node, or a limit of several pods together.
	OOMLimitNode OOMLimit = "node"
)

// OOMCounters are the kernel's counters of one cgroup about memory that ran out. A counter is unset if
// the kernel does not have it. Both count from the creation of the cgroup.
type OOMCounters struct {
	// Kills is how many processes the kernel has killed in the cgroup and in the cgroups below it. It
	// includes cgroups that do not exist any longer. The cgroup of a pod has it on cgroup v2 only.
	Kills podresources.Value
	// LimitReached is how often the limit of this cgroup was reached.
	LimitReached podresources.Value
}

// OOMSnapshot has the counters of a pod at one time. The zero value means that nothing is known. A pod
// without a cgroup has counters of zero.
type OOMSnapshot struct {
	Pod OOMCounters
	// Containers has the counters of each container whose cgroup exists, by container ID. Sandboxes may
	// be among them.
	Containers map[string]OOMCounters
}

// OOMContainer is a container as the runtime reports it.
type OOMContainer struct {
	Name, ID string
	// Exited means that the container does not run. Its cgroup usually does not exist any longer.
	Exited bool
	// Killed means that the container exited by SIGKILL and that this node did not stop it.
	Killed bool
	// ReportedOOM means that the runtime gives the reason OOMKilled. containerd gives it to every
	// container of a pod whose own limit was reached.
	ReportedOOM bool
	// HasLimit means that the container has a memory limit of its own.
	HasLimit bool
}

// OOMReport says that the kernel killed processes of a container because memory ran out.
type OOMReport struct {
	Container, ID string
	Limit         OOMLimit
	// Kills is the number of killed processes. It is 0 if the cgroup was removed before it could be read
	// and nothing else shows the number.
	Kills int64
}

// DecideOOM compares two snapshots of a pod and returns which containers have lost processes in between.
// before is the last snapshot, or the zero value. containers are the containers that run, and the
// containers that have exited since before.
//
// A container whose cgroup exists has its own counter. For an exited container whose cgroup was removed,
// DecideOOM uses the counter of the pod, which includes removed cgroups on cgroup v2. Without that
// counter the reason of the runtime counts. But if the limit of the pod was ever reached, or if that is
// not known, then it counts only for a container that exited by SIGKILL: another container of the pod
// that exits later by itself has the same reason. If a kill was counted while the container ran, then the
// reason is explained, and it counts again only if the limit of the pod was reached since.
func DecideOOM(before, after OOMSnapshot, containers []OOMContainer) []OOMReport {
	pod := counterIncrease(before.Pod.LimitReached, after.Pod.LimitReached)
	reports, removed := []OOMReport(nil), []OOMContainer(nil)
	for _, c := range containers {
		counters := after.Containers[c.ID]
		if !counters.Kills.IsSet() {
			if c.Exited {
				removed = append(removed, c)
			}
			continue
		}
		old := before.Containers[c.ID]
		if kills := containerIncrease(old.Kills, counters.Kills); kills.n > 0 {
			own := containerIncrease(old.LimitReached, counters.LimitReached)
			reports = append(reports, OOMReport{c.Name, c.ID, limitReached(pod, own, c), kills.n})
		}
	}
	neverReached := after.Pod.LimitReached == podresources.Finite(0)
	removed = selectOOM(removed, func(c OOMContainer) bool {
		kills, _ := before.Containers[c.ID].Kills.Number()
		return kills == 0 || after.Pod.Kills.IsSet() || c.Killed && pod.n > 0
	})
	victims, kills := victimsOfRemoved(removed, killsOutside(before, after), neverReached)
	for _, c := range victims {
		reports = append(reports, OOMReport{c.Name, c.ID, limitReached(pod, increase{}, c), kills})
	}
	return reports
}

// increase is by how much a counter has grown. known is false if the counter or its former value is
// missing.
type increase struct {
	n     int64
	known bool
}

// counterIncrease returns by how much a counter has grown. A counter that is smaller than before belongs
// to a new cgroup and has grown from 0. A counter of 0 has not grown, whatever it was before.
func counterIncrease(before, after podresources.Value) increase {
	now, ok := after.Number()
	old, knownBefore := before.Number()
	switch {
	case !ok || now > 0 && !knownBefore:
		return increase{}
	case now < old:
		return increase{now, true}
	}
	return increase{now - old, true}
}

// containerIncrease is counterIncrease for a container. Without a former value the counter has grown from
// 0, because each container has a new cgroup.
func containerIncrease(before, after podresources.Value) increase {
	if !before.IsSet() {
		before = podresources.Finite(0)
	}
	return counterIncrease(before, after)
}

// killsOutside returns how many processes of the pod the kernel has killed that are not in the counters
// of the existing cgroups.
func killsOutside(before, after OOMSnapshot) increase {
	kills := counterIncrease(before.Pod.Kills, after.Pod.Kills)
	for id, counters := range after.Containers {
		kills.n -= containerIncrease(before.Containers[id].Kills, counters.Kills).n
	}
	kills.n = max(kills.n, 0)
	return kills
}

// victimsOfRemoved returns the containers without a cgroup that have lost processes, and how many each has
// lost. kills is the number of killed processes in removed cgroups. If only one container is a victim, it has
// lost all of them. For several victims the number is 0, which means unknown. neverReached means that the limit
// of the pod was never reached.
func victimsOfRemoved(removed []OOMContainer, kills increase, neverReached bool) (victims []OOMContainer, each int64) {
	if !kills.known {
		return selectOOM(removed, func(c OOMContainer) bool { return c.ReportedOOM && (c.Killed || neverReached) }), 0
	}
	if kills.n == 0 {
		return nil, 0
	}
	victims = selectOOM(removed, func(c OOMContainer) bool { return c.Killed })
	if len(victims) == 0 {
		victims = selectOOM(removed, func(c OOMContainer) bool { return c.ReportedOOM })
	}
	if len(victims) == 0 && len(removed) == 1 {
		victims = removed
	}
	if len(victims) == 1 {
		return victims, kills.n
	}
	return victims, 0
}

// selectOOM returns the containers for which match returns true.
func selectOOM(containers []OOMContainer, match func(OOMContainer) bool) (selected []OOMContainer) {
	for _, c := range containers {
		if match(c) {
			selected = append(selected, c)
		}
	}
	return selected
}

// limitReached returns which memory limit killed the processes of a container: the limit of the container, or
// the limit of the pod. The kernel compares the limit of the container first. A container without a limit of
// its own has the limit of the pod in its cgroup too. If it reaches that limit, the pod needs more. own is
// unknown if the cgroup was removed. A container with a limit then counts as having reached its own limit,
// unless the pod has reached its limit. The result is OOMLimitNode if neither limit was reached, and
// OOMLimitUnknown if the counter of the pod is unknown.
func limitReached(pod, own increase, c OOMContainer) OOMLimit {
	switch {
	case own.n > 0 && c.HasLimit:
		return OOMLimitContainer
	case own.n > 0:
		return OOMLimitPod
	case !pod.known:
		return OOMLimitUnknown
	case pod.n > 0:
		return OOMLimitPod
	case !own.known && c.HasLimit:
		return OOMLimitContainer
	}
	return OOMLimitNode
}
