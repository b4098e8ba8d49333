package policy

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Containers defines how long dead containers are kept. The zero value has the kubelet's defaults.
type Containers struct {
	// MinAge is the minimum age of a container before it is removed, from its creation. Default
	// zero.
	MinAge time.Duration
	// MaxAge is the age at which a dead container is removed, from its exit. Default unlimited.
	MaxAge time.Duration
	// MaxPerPodContainer is how many dead containers of one name of a pod are kept. Default one;
	// negative is unlimited.
	MaxPerPodContainer int
	// MaxPerPod is how many dead containers of a pod are kept. Default unlimited.
	MaxPerPod int
	// MaxContainers is how many dead containers of all pods are kept. Default unlimited.
	MaxContainers int
}

// Removals are the records of one pod to remove, the oldest first.
type Removals struct {
	Containers []string
	Sandboxes  []string
	// Next is when more records become removable if nothing changes; zero is never.
	Next time.Time
}

// Empty reports whether there is nothing to remove.
func (r *Removals) Empty() bool { return len(r.Containers)+len(r.Sandboxes) == 0 }

// deadContainer is an exited container.
type deadContainer struct {
	*runtime.ContainerStatus
	uid     types.UID
	newest  bool // newest record of its name in its incarnation: it stays
	removed bool // chosen for removal
}

// Decide returns the records to remove for each pod, in the order of the pods. With MaxContainers
// the caller must pass all pods of the node.
func (p Containers) Decide(pods []*runtime.PodStatus, now time.Time) []Removals {
	removals := make([]Removals, len(pods))
	units := make([][]nameGroup, len(pods))
	for i, pod := range pods {
		if pod.UID == "" {
			continue
		}
		units[i] = p.groupDeadByName(pod, now, &removals[i])
		p.markExcessInPod(units[i], now, &removals[i])
	}
	p.markExcessInNode(units)
	for i, pod := range pods {
		for _, d := range oldestFirst(units[i]) {
			if d.removed {
				removals[i].Containers = append(removals[i].Containers, d.ID)
			}
		}
		if pod.UID != "" {
			removals[i].Sandboxes = unusedSandboxes(pod)
		}
	}
	return removals
}

// nameGroup is the dead containers of one name of a pod that have reached MinAge, newest first
// (GC-1, GC-11).
type nameGroup []*deadContainer

// groupDeadByName returns the exited containers of a pod that have reached MinAge, in one group for each
// container name. The newest container of a name is included at any age, because it counts against the limits.
// r.Next becomes the time at which the next container reaches MinAge.
func (p Containers) groupDeadByName(pod *runtime.PodStatus, now time.Time, r *Removals) (units []nameGroup) {
	records := make([]*runtime.ContainerStatus, len(pod.Containers))
	for i := range pod.Containers {
		records[i] = &pod.Containers[i]
	}
	slices.SortFunc(records, func(a, b *runtime.ContainerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), compareNewestFirst(a, b))
	})
	for from := 0; from < len(records); {
		to := from + 1
		for to < len(records) && records[to].Name == records[from].Name {
			to++
		}
		if u := p.deadContainersOfName(pod.UID, records[from:to], now, r); len(u) > 0 {
			units = append(units, u)
		}
		from = to
	}
	return units
}

// deadContainersOfName returns the exited containers in records, which all have one name, if they have reached
// MinAge or are the newest in their incarnation (life) of the pod. r.Next becomes the time at which a younger
// one reaches MinAge, if that is earlier than r.Next.
func (p Containers) deadContainersOfName(uid types.UID, records []*runtime.ContainerStatus, now time.Time, r *Removals) (u nameGroup) {
	for i, c := range records {
		if c.State != runtime.StateExited {
			continue
		}
		newest := !slices.ContainsFunc(records[:i], func(o *runtime.ContainerStatus) bool { return o.Incarnation == c.Incarnation })
		// A creation time in the future counts as now.
		if due := earlierOf(c.CreatedAt, now).Add(p.MinAge); !newest && due.After(now) {
			r.setNextIfEarlier(due)
			continue
		}
		u = append(u, &deadContainer{ContainerStatus: c, uid: uid, newest: newest})
	}
	return u
}

// markExcessInPod marks the containers of one pod for removal that exceed the maximum count per name, the
// maximum count per pod, or the maximum age since their exit (GC-3). The newest of a name is never marked.
// r.Next becomes the earliest time at which another container exceeds the maximum age, if that is earlier than
// r.Next.
func (p Containers) markExcessInPod(groups []nameGroup, now time.Time, r *Removals) {
	limit := cmp.Or(p.MaxPerPodContainer, 1)
	for _, u := range groups {
		u.markAllButNewest(limit)
	}
	if p.MaxPerPod > 0 {
		markOldestAcrossGroupsExceptNewest(groups, p.MaxPerPod)
	}
	if p.MaxAge <= 0 {
		return
	}
	for _, u := range groups {
		for _, d := range u {
			due := earlierOf(d.FinishedAt, now).Add(p.MaxAge)
			switch {
			case d.newest || d.removed:
			case due.After(now):
				r.setNextIfEarlier(due)
			default:
				d.removed = true
			}
		}
	}
}

// markExcessInNode marks containers for removal until at most MaxContainers are left on the node: first the
// containers beyond an equal share per name, then the oldest (GC-4). The newest of a name is never marked, so
// more may be left. It does nothing if MaxContainers is zero.
func (p Containers) markExcessInNode(pods [][]nameGroup) {
	all := slices.Concat(pods...)
	if p.MaxContainers <= 0 || countKept(all) <= p.MaxContainers {
		return
	}
	share := max(p.MaxContainers/len(all), 1)
	for _, u := range all {
		u.markAllButNewest(share)
	}
	markOldestAcrossGroupsExceptNewest(all, p.MaxContainers)
}

// markAllButNewest marks all containers of the group for removal except the newest n and those already marked.
// The newest one is never marked. A negative n marks nothing.
func (u nameGroup) markAllButNewest(n int) {
	for _, d := range u {
		switch {
		case d.removed:
		case n != 0:
			n--
		case !d.newest:
			d.removed = true
		}
	}
}

// markOldestAcrossGroupsExceptNewest marks the oldest containers for removal until at most keep are unmarked.
// The newest container of a name is never marked, so more may be left.
func markOldestAcrossGroupsExceptNewest(groups []nameGroup, keepTotal int) {
	many := countKept(groups) - keepTotal
	for _, d := range oldestFirst(groups) {
		if many <= 0 {
			return
		}
		if !d.removed && !d.newest {
			d.removed = true
			many--
		}
	}
}

// oldestFirst returns the containers of all groups, sorted by creation time. Containers of one name are sorted
// by attempt; attempts of different names cannot be compared.
func oldestFirst(groups []nameGroup) []*deadContainer {
	all := slices.Concat(groups...)
	slices.SortStableFunc(all, func(a, b *deadContainer) int {
		if a.uid == b.uid && a.Name == b.Name {
			return -compareNewestFirst(a.ContainerStatus, b.ContainerStatus)
		}
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.uid, b.uid), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// countKept returns how many containers are not marked for removal.
func countKept(groups []nameGroup) (n int) {
	for _, u := range groups {
		for _, d := range u {
			if !d.removed {
				n++
			}
		}
	}
	return n
}

// compareNewestFirst compares two containers of one name for sorting, the newest first: by attempt, which only
// this agent assigns, then by creation time, then by ID.
func compareNewestFirst(a, b *runtime.ContainerStatus) int {
	return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// unusedSandboxes returns the IDs of the sandboxes of an existing pod that are not ready, have no containers
// and are not the newest (GC-6). The oldest are first.
func unusedSandboxes(pod *runtime.PodStatus) (ids []string) {
	all := make([]*runtime.SandboxStatus, len(pod.Sandboxes))
	for i := range pod.Sandboxes {
		all[i] = &pod.Sandboxes[i]
	}
	slices.SortFunc(all, compareOldestSandboxFirst)
	for i, s := range all {
		used := slices.ContainsFunc(pod.Containers, func(c runtime.ContainerStatus) bool { return c.SandboxID == s.ID })
		if newest := i+1 == len(all); !newest && !s.Ready && !used {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func compareOldestSandboxFirst(a, b *runtime.SandboxStatus) int {
	return cmp.Or(cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Attempt, b.Attempt), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (r *Removals) setNextIfEarlier(at time.Time) {
	if r.Next.IsZero() || at.Before(r.Next) {
		r.Next = at
	}
}

func earlierOf(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}
