package cgroups_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// testDirs are a root, a QoS class and two pods with a container each, parents first.
var testDirs = []string{"/r", "/r/burstable", "/r/burstable/pod1", "/r/burstable/pod1/c", "/r/pod2", "/r/pod2/c"}

// drawGroups draws values for testDirs in which no child has a larger limit than its parent. Memory limits are multiples
// of memoryUnit.
func drawGroups(t *rapid.T, label string, memoryUnit int64) []cgroups.Group {
	var groups []cgroups.Group
	limits := map[string]struct{ quota, memory int64 }{} // the limit that applies, in units
	for _, dir := range testDirs {
		limit, ok := limits[path.Dir(dir)]
		if !ok {
			limit.quota, limit.memory = 1000, 1000
		}
		draw := func(name string, most int64, unit int64) podresources.Value {
			switch n := rapid.Int64Range(0, most+1).Draw(t, label+" "+dir+" "+name); n {
			case 0:
				return podresources.Unlimited()
			case most + 1:
				return podresources.Finite(most * unit)
			default:
				return podresources.Finite(n * unit)
			}
		}
		quota := draw("quota", limit.quota, 10)
		memory := draw("memory", limit.memory, memoryUnit)
		if n, ok := quota.Number(); ok {
			limit.quota = n / 10
		}
		if n, ok := memory.Number(); ok {
			limit.memory = n / memoryUnit
		}
		limits[dir] = limit
		v := cgroups.Values{
			CPUShares: podresources.Finite(rapid.Int64Range(0, 300000).Draw(t, label+" shares")),
			Memory:    memory,
			PIDs:      draw("pids", 20, 1),
		}
		// A quota of n in 10 ms, in one of three periods. Each is at least the smallest quota of the kernel.
		factor := rapid.SampledFrom([]int64{10, 20, 100}).Draw(t, label+" period")
		v.CPUPeriod = podresources.Finite(factor * 10000)
		v.CPUQuota = quota
		if n, ok := quota.Number(); ok {
			v.CPUQuota = podresources.Finite(n * 10 * factor)
		}
		if rapid.Bool().Draw(t, label+" swap") {
			v.MemorySwap = podresources.Unlimited()
			if n, ok := memory.Number(); ok {
				v.MemorySwap = podresources.Finite(n + memoryUnit*rapid.Int64Range(0, 10).Draw(t, label+" swap pages"))
			}
		}
		groups = append(groups, cgroups.Group{Dir: dir, Values: v})
	}
	return groups
}

// applyWrites makes writes. Each has to be accepted, and after each no child has more than its parent.
func applyWrites(t *rapid.T, dir *cgroupstest.Dir, writes []cgroups.Write) {
	for _, w := range writes {
		if w.Mkdir {
			require.NoError(t, dir.Mkdir(w.Path))
		} else {
			require.NoError(t, dir.WriteFile(w.Path, []byte(w.Content)))
		}
		require.NoError(t, dir.Check(), "after %v", w)
	}
}

// planFor returns the writes that a host lacks.
func planFor(t require.TestingT, dir cgroups.Files, c cgroups.Capabilities, want []cgroups.Group) []cgroups.Write {
	have, err := cgroups.Read(dir, c, want)
	require.NoError(t, err)
	return cgroups.Plan(c, want, have)
}

// newHost returns a host with swap and its capabilities.
func newHost(t require.TestingT, mode string) (*cgroupstest.Dir, cgroups.Capabilities) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: mode, Swap: true})
	c := cgroups.Probe(dir, testRoot(t))
	c.PageSize = 4096
	require.Equal(t, cgroups.Ready, c.State)
	return dir, c
}

// From any values to any others, also after a crash behind any write: the kernel accepts each write, no child has more
// than its parent at any time, and the values are the wanted ones at the end (CG-15, CG-43).
func TestPlan_CG15_CG43_AnyPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, c := newHost(t, rapid.SampledFrom([]string{"v1", "hybrid", "v2"}).Draw(t, "mode"))
		applyWrites(t, dir, planFor(t, dir, c, drawGroups(t, "old", 4096)))
		want := drawGroups(t, "new", 4096)
		for range rapid.IntRange(0, 3).Draw(t, "crashes") {
			writes := planFor(t, dir, c, want)
			applyWrites(t, dir, writes[:rapid.IntRange(0, len(writes)).Draw(t, "writes before the crash")])
			if rapid.Bool().Draw(t, "another want") {
				want = drawGroups(t, "newer", 4096)
			}
		}
		applyWrites(t, dir, planFor(t, dir, c, want))
		assert.Empty(t, planFor(t, dir, c, want))
		checkValues(t, dir, c, want)
	})
}

// checkValues compares files of a host with the wanted values, without Plan.
func checkValues(t *rapid.T, dir *cgroupstest.Dir, c cgroups.Capabilities, want []cgroups.Group) {
	for _, group := range want {
		files := map[string]string{}
		v := group.Values
		format := func(v podresources.Value, unlimited string) string {
			if v.IsUnlimited() {
				return unlimited
			}
			return v.String()
		}
		shares, _ := v.CPUShares.Number()
		if c.Mode() == cgroups.ModeV2 {
			files["cpu.weight"] = podresources.Finite(podresources.WeightFromShares(shares)).String()
			files["cpu.max"] = format(v.CPUQuota, "max") + " " + v.CPUPeriod.String()
			files["memory.max"], files["pids.max"] = format(v.Memory, "max"), format(v.PIDs, "max")
		} else {
			files["cpu/cpu.shares"] = podresources.Finite(min(max(shares, 2), 262144)).String()
			files["cpu/cpu.cfs_quota_us"], files["cpu/cpu.cfs_period_us"] = format(v.CPUQuota, "-1"), v.CPUPeriod.String()
			files["memory/memory.limit_in_bytes"] = format(v.Memory, "9223372036854771712")
			files["pids/pids.max"] = format(v.PIDs, "max")
			if v.MemorySwap.IsSet() {
				files["memory/memory.memsw.limit_in_bytes"] = format(v.MemorySwap, "9223372036854771712")
			}
		}
		for name, content := range files {
			mount, base := path.Split(name)
			text, err := dir.ReadFile(path.Join("/sys/fs/cgroup", mount, group.Dir, base))
			require.NoError(t, err)
			require.Equal(t, content+"\n", string(text), "%s of %s", name, group.Dir)
		}
	}
}

// Whatever another program has written, two plans reach the wanted values, and a third one is empty.
func TestPlan_CG43_ForeignChanges(t *testing.T) {
	files := []string{"cpu.shares", "cpu.weight", "memory.limit_in_bytes", "memory.max", "pids.max"}
	contents := []string{"0", "2", "4096", "123456", "", "nonsense"}
	rapid.Check(t, func(t *rapid.T) {
		dir, c := newHost(t, rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "mode"))
		want := drawGroups(t, "want", 4096)
		applyWrites(t, dir, planFor(t, dir, c, want))
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			name := rapid.SampledFrom(files).Draw(t, "file")
			group := rapid.SampledFrom(dir.Groups()).Draw(t, "cgroup")
			if _, err := dir.ReadFile(path.Join(group, name)); err == nil {
				dir.SetFile(path.Join(group, name), rapid.SampledFrom(contents).Draw(t, "content"))
			}
		}
		for range 2 {
			for _, w := range planFor(t, dir, c, want) {
				_ = dir.WriteFile(w.Path, []byte(w.Content))
			}
		}
		assert.Empty(t, planFor(t, dir, c, want))
		checkValues(t, dir, c, want)
	})
}

// A value that is unset is not written, also if the file has a text that is no number.
func TestPlan_Unset(t *testing.T) {
	_, c := newHost(t, "v1")
	have := cgroups.Snapshot{Dirs: map[string]bool{}, Files: map[string]string{}}
	for _, file := range []string{"cpu/r/cpu.shares", "cpu/r/cpu.cfs_quota_us", "memory/r/memory.limit_in_bytes", "memory/r/memory.memsw.limit_in_bytes", "pids/r/pids.max", "cpuacct/r/x"} {
		have.Dirs["/sys/fs/cgroup/"+path.Dir(file)] = true
		have.Files["/sys/fs/cgroup/"+file] = "nonsense"
	}
	assert.Empty(t, cgroups.Plan(c, []cgroups.Group{{Dir: "/r"}}, have))
}

// Plan changes no argument and is deterministic.
func TestPlan_Pure(t *testing.T) {
	dir, c := newHost(t, "v1")
	want := []cgroups.Group{{Dir: "/r"}, {Dir: "/r/pod1", Values: cgroups.Values{Memory: podresources.Finite(8192), PIDs: podresources.Finite(1)}}}
	have, err := cgroups.Read(dir, c, want)
	require.NoError(t, err)
	first := cgroups.Plan(c, want, have)
	for range 20 {
		assert.Equal(t, first, cgroups.Plan(c, want, have))
	}
	again, err := cgroups.Read(dir, c, want)
	require.NoError(t, err)
	assert.Equal(t, again, have)
	assert.Empty(t, cgroups.Plan(cgroups.Capabilities{}, want, have), "a host that was not probed")
}
