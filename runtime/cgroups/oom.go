package cgroups

import (
	"cmp"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
)

// OOM are the counters of one cgroup about memory that ran out. The kernel deletes them with the cgroup, so they are
// read when a container has exited and before its cgroup is removed. A runtime removes the cgroup of a container soon
// after its exit. On cgroup v1 a kill between the last read and the removal is then not known. On cgroup v2 TreeKills of
// the pod includes it.
type OOM struct {
	// Name is the name of a container's cgroup, with most runtimes the ID of the container. The cgroup of the pod has
	// the name "".
	Name string
	// Kills is how many processes of this cgroup the kernel has killed, without processes of the cgroups in it. A kill counts
	// for the cgroup of the process, whichever limit was reached. With memory.oom.group Linux may count a process twice.
	Kills podresources.Value
	// TreeKills is how many processes of this cgroup and of all cgroups in it the kernel has killed. It includes cgroups
	// that do not exist any longer. Cgroup v1 does not have it.
	TreeKills podresources.Value
	// LimitReached is how often the memory of the cgroup and of the cgroups in it reached the limit of this cgroup. On
	// cgroup v2 it counts only if no memory could be reclaimed, so that a process had to be killed.
	LimitReached podresources.Value
}

// maxOOMReads bounds how often ReadOOM reads again because the counters of the pod change.
const maxOOMReads = 5

// ReadOOM returns the counters of a pod's cgroup and of the cgroups directly in it, the pod first, the others in the
// order of their names. A container that lost a process has Kills. Of the others, the one with a larger LimitReached
// than before is the one whose limit was reached. A counter is unset if the kernel does not have it. The counters are
// of one moment: while the counters of the pod change, ReadOOM reads all again, maxOOMReads times at most. The error is
// ErrNotFound if no hierarchy has the cgroup of the pod.
func (m *Manager) ReadOOM(uid types.UID) ([]OOM, error) {
	dir, err := m.findPodDir(uid)
	if err != nil {
		return nil, err
	}
	h := m.config.Capabilities.Controllers[Memory]
	if h.Mount == "" {
		return nil, nil
	}
	names, err := m.config.Files.ReadDir(path.Join(h.Mount, dir))
	if isGone(err) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	var counters []OOM
	for range maxOOMReads {
		counters = []OOM{m.readOOMOf(h, dir, "")}
		for _, name := range names {
			counters = append(counters, m.readOOMOf(h, dir, name))
		}
		if m.readOOMOf(h, dir, "") == counters[0] {
			break
		}
	}
	slices.SortFunc(counters, func(a, b OOM) int { return cmp.Compare(a.Name, b.Name) })
	return counters, nil
}

// readOOMOf returns the counters of one cgroup.
func (m *Manager) readOOMOf(h Hierarchy, dir, name string) OOM {
	read := func(file string) string {
		text, _ := m.config.Files.ReadFile(path.Join(h.Mount, dir, name, file)) // A missing file leaves a counter unset.
		return string(text)
	}
	if h.Version == V2 {
		events := read("memory.events.local")
		tree := parseKey(read("memory.events"), "oom_kill")
		return OOM{Name: name, Kills: parseKey(events, "oom_kill"), TreeKills: tree, LimitReached: parseKey(events, "oom")}
	}
	reached := parseCount(read("memory.failcnt"))
	if reached == podresources.Finite(0) {
		reached = swapLimitReachedOnV1(read)
	}
	return OOM{Name: name, Kills: parseKey(read("memory.oom_control"), "oom_kill"), LimitReached: reached}
}

// swapLimitReachedOnV1 returns how often the limit of memory and swap together was reached. The kernel charges both
// together before it charges memory alone, and a runtime sets both limits to the same number, so this is then the limit
// that is reached. Linux 6.18 does not count it. The result is then 1 if the highest usage was at the limit.
func swapLimitReachedOnV1(read func(file string) string) podresources.Value {
	if n, _ := parseCount(read("memory.memsw.failcnt")).Number(); n > 0 {
		return podresources.Finite(n)
	}
	usage, known := parseCount(read("memory.memsw.max_usage_in_bytes")).Number()
	limit, limited := parseCount(read("memory.memsw.limit_in_bytes")).Number()
	if known && limited && usage >= limit {
		return podresources.Finite(1)
	}
	return podresources.Finite(0)
}
