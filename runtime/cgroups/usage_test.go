package cgroups_test

import (
	"math"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// set sets files of a pod's cgroup. The first element of a name is the hierarchy of cgroup v1.
func set(dir *cgroupstest.Dir, mode, where string, files map[string]string) {
	for name, content := range files {
		if mode == "v2" {
			dir.SetFile("/sys/fs/cgroup"+where+"/"+name, content)
		} else {
			controller := map[string]string{"cpu": "cpu", "cpuacct": "cpuacct", "memory": "memory", "pids": "pids"}[name[:indexOf(name, '.')]]
			dir.SetFile("/sys/fs/cgroup/"+controller+where+"/"+name, content)
		}
	}
}

// indexOf returns the index of a byte in a text.
func indexOf(text string, b byte) int {
	for i := range len(text) {
		if text[i] == b {
			return i
		}
	}
	return len(text)
}

// The working set is the usage without inactive files and never below zero (EV-31). CPU time is in nanoseconds.
func TestReadUsage_EV31(t *testing.T) {
	for mode, files := range map[string]map[string]string{
		"v1": {
			"cpuacct.usage": "5000", "memory.usage_in_bytes": "1000", "memory.stat": "inactive_file 1\ntotal_inactive_file 300", "pids.current": "4", "pids.events": "max 2",
		},
		"v2": {
			"cpu.stat": "usage_usec 5\nuser_usec 1", "memory.current": "1000", "memory.stat": "anon 1\ninactive_file 300", "pids.current": "4", "pids.events": "max 2",
		},
	} {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		set(dir, mode, where, files)
		usage, err := m.ReadUsage("1")
		require.NoError(t, err)
		assert.Equal(t, cgroups.Usage{
			CPUNanoseconds: podresources.Finite(5000), Memory: podresources.Finite(1000), MemoryWorkingSet: podresources.Finite(700),
			PIDs: podresources.Finite(4), PIDsRejected: podresources.Finite(2),
		}, usage, mode)

		set(dir, mode, where, map[string]string{"memory.stat": "inactive_file 1001\ntotal_inactive_file 1001"})
		usage, err = m.ReadUsage("1")
		require.NoError(t, err)
		assert.Equal(t, podresources.Finite(0), usage.MemoryWorkingSet, mode)
	}
}

// A failed fork counts for the pod, whether the kernel counts it in the pod or in a container.
func TestReadUsage_PIDsRejected(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		pod := map[bool]string{true: "/sys/fs/cgroup", false: "/sys/fs/cgroup/pids"}[mode == "v2"] + where
		for i, name := range []string{"a", "b"} {
			require.NoError(t, dir.Mkdir(pod+"/"+name))
			dir.SetFile(pod+"/"+name+"/pids.events", []string{"max 2", "max 3"}[i])
		}
		usage, err := m.ReadUsage("1")
		require.NoError(t, err)
		assert.Equal(t, podresources.Finite(5), usage.PIDsRejected)
		dir.SetFile(pod+"/pids.events", "max 9")
		usage, err = m.ReadUsage("1")
		require.NoError(t, err)
		assert.Equal(t, podresources.Finite(9), usage.PIDsRejected)
	}
}

// Huge counts are cut, and damaged ones are unset.
func TestReadUsage_Bounds(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v2"})
	where, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	set(dir, "v2", where, map[string]string{"cpu.stat": "usage_usec 9223372036854775807", "memory.current": "18446744073709551615", "pids.current": "many"})
	usage, err := m.ReadUsage("1")
	require.NoError(t, err)
	assert.Equal(t, podresources.Finite(math.MaxInt64), usage.CPUNanoseconds)
	assert.Equal(t, podresources.Finite(math.MaxInt64), usage.Memory)
	assert.Equal(t, podresources.Value{}, usage.PIDs)
}

// A missing controller leaves its values unset, and a pod without cgroup is an error. An agent that has restarted finds
// the cgroup without Ensure.
func TestReadUsage_Missing(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1", Without: []string{"memory", "cpuacct"}})
	_, err := m.ReadUsage("1")
	assert.ErrorIs(t, err, cgroups.ErrNotFound)
	_, err = m.ReadOOM("1")
	assert.ErrorIs(t, err, cgroups.ErrNotFound)
	_, err = m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	after, err := cgroups.New(cgroups.Config{Root: testRoot(t), Capabilities: m.Capabilities(), Files: dir})
	require.NoError(t, err)
	for _, m := range []*cgroups.Manager{m, after} {
		usage, err := m.ReadUsage("1")
		require.NoError(t, err)
		assert.Equal(t, cgroups.Usage{PIDs: podresources.Finite(0), PIDsRejected: podresources.Finite(0)}, usage)
		counters, err := m.ReadOOM("1")
		assert.NoError(t, err)
		assert.Empty(t, counters)
	}
}

// The usage of all pods together is read from the cgroup that contains them. Before the first pod there is no such cgroup.
func TestReadTotalUsage(t *testing.T) {
	for mode, files := range map[string]map[string]string{
		"v1": {"memory.usage_in_bytes": "1000", "memory.stat": "total_inactive_file 300"},
		"v2": {"memory.current": "1000", "memory.stat": "inactive_file 300"},
	} {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		_, err := m.ReadTotalUsage()
		require.ErrorIs(t, err, cgroups.ErrNotFound)
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		set(dir, mode, "/"+strings.Split(where, "/")[1], files)
		usage, err := m.ReadTotalUsage()
		require.NoError(t, err)
		assert.Equal(t, cgroups.Usage{Memory: podresources.Finite(1000), MemoryWorkingSet: podresources.Finite(700)}, usage, mode)
	}
}

// Memory that is available never wraps to a huge number when the limit is below the working set (EV-32).
func TestAvailableMemory_EV32(t *testing.T) {
	usage := cgroups.Usage{MemoryWorkingSet: podresources.Finite(700)}
	assert.Equal(t, podresources.Finite(300), usage.AvailableMemory(podresources.Finite(1000)))
	assert.Equal(t, podresources.Finite(0), usage.AvailableMemory(podresources.Finite(600)))
	assert.Equal(t, podresources.Value{}, usage.AvailableMemory(podresources.Unlimited()))
	assert.Equal(t, podresources.Value{}, usage.AvailableMemory(podresources.Value{}))
	assert.Equal(t, podresources.Value{}, cgroups.Usage{}.AvailableMemory(podresources.Finite(1)))
}

// Each cgroup counts its own victims. If the limit of the pod was reached, the pod has LimitReached, and only the
// container that lost a process has Kills (OM-3, OM-4, OM-5, XB-28).
func TestReadOOM_OM3_OM4_OM5_XB28(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		for _, name := range []string{"victim", "innocent"} {
			require.NoError(t, dir.Mkdir(memoryPath(mode, where)+"/"+name))
		}
		if mode == "v2" {
			dir.SetFile(memoryPath(mode, where)+"/memory.events.local", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 0")
			dir.SetFile(memoryPath(mode, where)+"/memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 5")
			require.NoError(t, dir.WriteFile(memoryPath(mode, where)+"/cgroup.subtree_control", []byte("+memory")))
			dir.SetFile(memoryPath(mode, where)+"/victim/memory.events.local", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2")
		} else {
			dir.SetFile(memoryPath(mode, where)+"/memory.failcnt", "3")
			dir.SetFile(memoryPath(mode, where)+"/victim/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2")
		}
		counters, err := m.ReadOOM("1")
		require.NoError(t, err)
		zero := podresources.Finite(0)
		var tree, treeOfPod podresources.Value // Cgroup v1 does not have them.
		if mode == "v2" {
			tree, treeOfPod = zero, podresources.Finite(5)
		}
		assert.Equal(t, []cgroups.OOM{
			{Name: "", Kills: zero, TreeKills: treeOfPod, LimitReached: podresources.Finite(3)},
			{Name: "innocent", Kills: zero, TreeKills: tree, LimitReached: zero},
			{Name: "victim", Kills: podresources.Finite(2), TreeKills: tree, LimitReached: zero},
		}, counters, mode)

		dir.SetFile(memoryPath(mode, where)+"/victim/memory.oom_control", "oom_kill_disable 0")
		dir.SetFile(memoryPath(mode, where)+"/victim/memory.events.local", "")
		counters, err = m.ReadOOM("1")
		require.NoError(t, err)
		assert.False(t, counters[2].Kills.IsSet(), "an old kernel does not count")
	}
}

// countedFiles counts the reads of one file, and changes its content after the first read.
type countedFiles struct {
	cgroups.Files
	file    string
	reads   int
	changed func()
}

func (f *countedFiles) ReadFile(name string) ([]byte, error) {
	content, err := f.Files.ReadFile(name)
	if name == f.file {
		if f.reads++; f.reads == 1 {
			f.changed()
		}
	}
	return content, err
}

// A kill between the read of the pod and the read of a container makes ReadOOM read both again. Otherwise the two
// counters would not fit together (OM-5).
func TestReadOOM_OM5_OneMoment(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v2"})
	where, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	pod := memoryPath("v2", where)
	require.NoError(t, dir.Mkdir(pod+"/a"))
	require.NoError(t, dir.WriteFile(pod+"/cgroup.subtree_control", []byte("+memory")))
	files := &countedFiles{Files: dir, file: pod + "/memory.events", changed: func() {
		dir.SetFile(pod+"/memory.events", "oom_kill 1")
		dir.SetFile(pod+"/a/memory.events", "oom_kill 1")
	}}
	m, err = cgroups.New(cgroups.Config{Root: testRoot(t), Capabilities: m.Capabilities(), Files: files})
	require.NoError(t, err)
	counters, err := m.ReadOOM("1")
	require.NoError(t, err)
	require.Len(t, counters, 2)
	assert.Equal(t, podresources.Finite(1), counters[0].TreeKills)
	assert.Equal(t, podresources.Finite(1), counters[1].TreeKills)
	assert.Equal(t, 4, files.reads)
}

// On cgroup v1 a container has the same limit for memory alone and for memory with swap. The kernel counts at the latter
// that the limit was reached, or only shows the highest usage (OM-5).
func TestReadOOM_OM5_LimitWithSwap(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"counted":      {map[string]string{"failcnt": "4", "max_usage_in_bytes": "64", "limit_in_bytes": "64"}, 4},
		"not counted":  {map[string]string{"failcnt": "0", "max_usage_in_bytes": "64", "limit_in_bytes": "64"}, 1},
		"below":        {map[string]string{"failcnt": "0", "max_usage_in_bytes": "63", "limit_in_bytes": "64"}, 0},
		"without swap": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
			where, err := m.Ensure("1", podValues(), 1)
			require.NoError(t, err)
			container := memoryPath("v1", where) + "/a"
			require.NoError(t, dir.Mkdir(container))
			for file, content := range c.files {
				dir.SetFile(container+"/memory.memsw."+file, content)
			}
			counters, err := m.ReadOOM("1")
			require.NoError(t, err)
			require.Len(t, counters, 2)
			assert.Equal(t, podresources.Finite(c.want), counters[1].LimitReached)
			dir.SetFile(container+"/memory.failcnt", "7")
			counters, err = m.ReadOOM("1")
			require.NoError(t, err)
			assert.Equal(t, podresources.Finite(7), counters[1].LimitReached)
		})
	}
}

// The values of a pod's cgroup are read as they were written, on every kind of host. Shares lose precision on cgroup v2
// (RZ-51).
func TestReadPodValues_RZ51(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		_, err := m.ReadPodValues("1")
		require.ErrorIs(t, err, cgroups.ErrNotFound)
		for _, values := range []podresources.PodValues{podValues(), {
			QOSClass: v1.PodQOSBurstable, CPUShares: podresources.Finite(2), CPUQuota: podresources.Unlimited(), CPUPeriod: podresources.Finite(100000),
			Memory: podresources.Unlimited(), PIDs: podresources.Unlimited(),
		}} {
			_, err = m.Ensure("1", values, 0)
			require.NoError(t, err)
			want := values
			want.QOSClass = ""
			if shares, _ := values.CPUShares.Number(); mode == "v2" {
				want.CPUShares = podresources.Finite(podresources.SharesFromWeight(podresources.WeightFromShares(shares)))
			}
			read, err := m.ReadPodValues("1")
			require.NoError(t, err)
			assert.Equal(t, want, read, mode)
		}
		require.NoError(t, m.Remove(t.Context(), "1"))
		_, err = m.ReadPodValues("1")
		require.ErrorIs(t, err, cgroups.ErrNotFound)

		_, err = m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		for _, name := range dir.Groups() { // Another program removes the cgroup.
			if path.Base(name) == "pod1" {
				require.NoError(t, dir.Remove(name))
			}
		}
		_, err = m.ReadPodValues("1")
		require.ErrorIs(t, err, cgroups.ErrNotFound)
	}
	m, _ := newManager(t, cgroupstest.Config{ReadOnly: true})
	_, err := m.ReadPodValues("1")
	require.ErrorIs(t, err, cgroups.ErrUnavailable)
}
