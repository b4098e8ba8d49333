package policy

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Containers says how long dead containers are kept. The zero value has the
// kubelet's numbers.
type Containers struct {
	// MinAge is how old a container must be before it is removed, counted from
	// its creation. Default none.
	MinAge time.Duration
	// MaxAge is how old a dead container gets, counted from its end. Default: it
	// does not matter.
	MaxAge time.Duration
	// MaxPerPodContainer is how many dead ones of one name of a pod are kept.
	// Default one; negative is any number.
	MaxPerPodContainer int
	// MaxPerPod is how many dead ones of a pod are kept. Default any number.
	MaxPerPod int
	// MaxContainers is how many dead ones of all pods are kept. Default any
	// number.
	MaxContainers int
}

// Removals are what is of no use any more of one pod, the oldest first.
type Removals struct {
	Containers []string
	Sandboxes  []string
	// Next is when something more will be, if nothing changes; zero is never.
	Next time.Time
}

// Empty reports whether there is nothing to remove.
func (r *Removals) Empty() bool { return len(r.Containers)+len(r.Sandboxes) == 0 }

// dead is a container that has exited.
type dead struct {
	*runtime.ContainerStatus
	uid    types.UID
	newest bool // record of its name in its life: it stays
	gone   bool // it is removed
}

// Decide names what may be removed of each pod, in the order of the pods. With
// MaxContainers all pods of the node must be given at once.
func (p Containers) Decide(pods []*runtime.PodStatus, now time.Time) []Removals {
	removals := make([]Removals, len(pods))
	units := make([][]unit, len(pods))
	for i, pod := range pods {
		if pod.UID == "" {
			continue
		}
		units[i] = p.units(pod, now, &removals[i])
		p.cut(units[i], now, &removals[i])
	}
	p.cutAll(units)
	for i, pod := range pods {
		for _, d := range sorted(units[i]) {
			if d.gone {
				removals[i].Containers = append(removals[i].Containers, d.ID)
			}
		}
		if pod.UID != "" {
			removals[i].Sandboxes = sandboxes(pod)
		}
	}
	return removals
}

// unit is the dead containers of one name of a pod that are old enough to be
// removed, newest first (GC-1, GC-11).
type unit []*dead

// units sorts the dead containers of a pod by name.
func (p Containers) units(pod *runtime.PodStatus, now time.Time, r *Removals) (units []unit) {
	records := make([]*runtime.ContainerStatus, len(pod.Containers))
	for i := range pod.Containers {
		records[i] = &pod.Containers[i]
	}
	slices.SortFunc(records, func(a, b *runtime.ContainerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), newestFirst(a, b))
	})
	for from := 0; from < len(records); {
		to := from + 1
		for to < len(records) && records[to].Name == records[from].Name {
			to++
		}
		if u := p.unit(pod.UID, records[from:to], now, r); len(u) > 0 {
			units = append(units, u)
		}
		from = to
	}
	return units
}

// unit picks the dead ones of one name that are old enough.
func (p Containers) unit(uid types.UID, records []*runtime.ContainerStatus, now time.Time, r *Removals) (u unit) {
	for i, c := range records {
		if c.State != runtime.StateExited {
			continue
		}
		newest := !slices.ContainsFunc(records[:i], func(o *runtime.ContainerStatus) bool { return o.Incarnation == c.Incarnation })
		// One from the future is as old as one of now.
		if due := earlier(c.CreatedAt, now).Add(p.MinAge); !newest && due.After(now) {
			r.sooner(due)
			continue
		}
		u = append(u, &dead{ContainerStatus: c, uid: uid, newest: newest})
	}
	return u
}

// cut removes what is too many, or too old, of one pod (GC-3).
func (p Containers) cut(units []unit, now time.Time, r *Removals) {
	limit := cmp.Or(p.MaxPerPodContainer, 1)
	for _, u := range units {
		u.keep(limit)
	}
	if p.MaxPerPod > 0 {
		oldestOverall(units, p.MaxPerPod)
	}
	if p.MaxAge <= 0 {
		return
	}
	for _, u := range units {
		for _, d := range u {
			due := earlier(d.FinishedAt, now).Add(p.MaxAge)
			switch {
			case d.newest || d.gone:
			case due.After(now):
				r.sooner(due)
			default:
				d.gone = true
			}
		}
	}
}

// cutAll removes what is too many on the node: first of each name its share,
// then the oldest (GC-4).
func (p Containers) cutAll(pods [][]unit) {
	all := slices.Concat(pods...)
	if p.MaxContainers <= 0 || left(all) <= p.MaxContainers {
		return
	}
	share := max(p.MaxContainers/len(all), 1)
	for _, u := range all {
		u.keep(share)
	}
	oldestOverall(all, p.MaxContainers)
}

// keep removes all but the newest n; a negative n keeps all.
func (u unit) keep(n int) {
	for _, d := range u {
		switch {
		case d.gone:
		case n != 0:
			n--
		case !d.newest:
			d.gone = true
		}
	}
}

// oldestOverall removes the oldest until n are left, as far as they may go.
func oldestOverall(units []unit, n int) {
	many := left(units) - n
	for _, d := range sorted(units) {
		if many <= 0 {
			return
		}
		if !d.gone && !d.newest {
			d.gone = true
			many--
		}
	}
}

// sorted are the containers of all units, those that were created first at the
// front. Times of different pods are all there is to compare them by.
func sorted(units []unit) []*dead {
	all := slices.Concat(units...)
	slices.SortStableFunc(all, func(a, b *dead) int {
		if a.uid == b.uid && a.Name == b.Name {
			return -newestFirst(a.ContainerStatus, b.ContainerStatus)
		}
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.uid, b.uid), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func left(units []unit) (n int) {
	for _, u := range units {
		for _, d := range u {
			if !d.gone {
				n++
			}
		}
	}
	return n
}

// newestFirst orders the records of one name: by attempt, which only we count,
// and only then by time.
func newestFirst(a, b *runtime.ContainerStatus) int {
	return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// sandboxes are those of a pod that is still there that nobody uses: not ready,
// without containers, and not the newest (GC-6). The oldest come first.
func sandboxes(pod *runtime.PodStatus) (ids []string) {
	all := make([]*runtime.SandboxStatus, len(pod.Sandboxes))
	for i := range pod.Sandboxes {
		all[i] = &pod.Sandboxes[i]
	}
	slices.SortFunc(all, oldestSandboxFirst)
	for i, s := range all {
		used := slices.ContainsFunc(pod.Containers, func(c runtime.ContainerStatus) bool { return c.SandboxID == s.ID })
		if newest := i+1 == len(all); !newest && !s.Ready && !used {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func oldestSandboxFirst(a, b *runtime.SandboxStatus) int {
	return cmp.Or(cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Attempt, b.Attempt), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func (r *Removals) sooner(at time.Time) {
	if r.Next.IsZero() || at.Before(r.Next) {
		r.Next = at
	}
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}
