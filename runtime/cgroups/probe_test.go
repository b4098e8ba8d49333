package cgroups_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// A host with systemd has its directory in /run.
func TestProbe_CG42_Systemd(t *testing.T) {
	found := cgroups.Probe(systemdFiles{cgroupstest.New(cgroupstest.Config{})}, testRoot(t))
	assert.True(t, found.Systemd)
	assert.Equal(t, cgroups.Ready, found.State)
}

// systemdFiles is a host with systemd.
type systemdFiles struct{ *cgroupstest.Dir }

func (s systemdFiles) ReadDir(name string) ([]string, error) {
	if name == "/run/systemd/system" {
		return nil, nil
	}
	return s.Dir.ReadDir(name)
}

// mountFiles is a host whose mounts are a given text.
type mountFiles struct {
	*cgroupstest.Dir
	text string
}

func (m mountFiles) ReadFile(name string) ([]byte, error) {
	if name == "/proc/self/mountinfo" {
		return []byte(m.text), nil
	}
	return m.Dir.ReadFile(name)
}

// A probe finds the version of each controller, swap, PSI and the kill file, as one comparable value, and leaves nothing
// behind (CG-42).
func TestProbe_CG42(t *testing.T) {
	for _, c := range []struct {
		config cgroupstest.Config
		mode   cgroups.Mode
		kill   bool
	}{
		{cgroupstest.Config{Mode: "v1"}, cgroups.ModeV1, false},
		{cgroupstest.Config{Mode: "hybrid", Swap: true}, cgroups.ModeHybrid, true},
		{cgroupstest.Config{Mode: "v2"}, cgroups.ModeV2, true},
		{cgroupstest.Config{Mode: "v2", Swap: true}, cgroups.ModeV2, true},
		{cgroupstest.Config{Mode: "v2", Without: []string{"memory"}}, cgroups.ModeV2, true},
	} {
		dir := cgroupstest.New(c.config)
		found := cgroups.Probe(dir, testRoot(t))
		enables := strings.Contains(strings.Join(changes(dir), "\n"), "cgroup.subtree_control")
		assert.Equal(t, c.mode == cgroups.ModeV2, enables, "only where the limits are on cgroup v2")
		assert.Equal(t, cgroups.Ready, found.State)
		assert.Empty(t, found.Reason)
		assert.Equal(t, c.mode, found.Mode())
		assert.Equal(t, c.kill, found.KillFile)
		assert.Equal(t, c.config.Swap, found.Swap)
		assert.True(t, found.PSI)
		assert.False(t, found.Systemd)
		assert.Positive(t, found.PageSize)
		assert.True(t, found == cgroups.Probe(dir, testRoot(t)), "a second probe finds the same")
		assert.Empty(t, dir.Groups())
		memory := found.Controllers[cgroups.Memory]
		switch {
		case len(c.config.Without) > 0:
			assert.Equal(t, cgroups.Hierarchy{}, memory)
		case c.mode == cgroups.ModeV2:
			assert.Equal(t, cgroups.Hierarchy{Version: cgroups.V2, Mount: "/sys/fs/cgroup"}, memory)
			assert.Equal(t, cgroups.Hierarchy{}, found.Controllers[cgroups.CPUAccounting])
		default:
			assert.Equal(t, cgroups.Hierarchy{Version: cgroups.V1, Mount: "/sys/fs/cgroup/memory"}, memory)
		}
	}
}

// A host without rights or without cgroups has a state and a reason, and no error.
func TestProbe_CG42_WithoutRights(t *testing.T) {
	for _, mode := range []string{"v1", "hybrid", "v2"} {
		found := cgroups.Probe(cgroupstest.New(cgroupstest.Config{Mode: mode, ReadOnly: true}), testRoot(t))
		assert.Equal(t, cgroups.NotWritable, found.State, mode)
		assert.Contains(t, found.Reason, syscall.EROFS.Error(), mode)
		assert.Equal(t, cgroups.ModeNone, found.Mode())
	}
	assert.Equal(t, "NotWritable", cgroups.NotWritable.String())
	assert.Equal(t, "invalid", cgroups.State(9).String())

	found := cgroups.Probe(mountFiles{cgroupstest.New(cgroupstest.Config{}), "22 1 0:21 / / rw - ext4 /dev/vda rw\n\nnonsense\n1 2 - cgroup2 x\n"}, testRoot(t))
	assert.Equal(t, cgroups.Missing, found.State)
	assert.NotEmpty(t, found.Reason)

	dir := cgroupstest.New(cgroupstest.Config{})
	dir.Fail(func(call, _ string) error {
		if call == "ReadFile" {
			return syscall.EACCES
		}
		return nil
	})
	assert.Equal(t, cgroups.Missing, cgroups.Probe(dir, testRoot(t)).State)
	assert.Equal(t, cgroups.Missing, cgroups.Probe(cgroupstest.New(cgroupstest.Config{}), cgroups.Root{}).State)
}

// One hierarchy without rights costs its controller alone.
func TestProbe_CG42_OneHierarchyWithoutRights(t *testing.T) {
	dir := cgroupstest.New(cgroupstest.Config{Mode: "v1"})
	dir.Fail(func(call, path string) error {
		if call == "Mkdir" && path == "/sys/fs/cgroup/pids/podkeel-test" {
			return syscall.EACCES
		}
		return nil
	})
	found := cgroups.Probe(dir, testRoot(t))
	assert.Equal(t, cgroups.Ready, found.State)
	assert.Equal(t, cgroups.Hierarchy{}, found.Controllers[cgroups.PIDs])
	assert.NotEqual(t, cgroups.Hierarchy{}, found.Controllers[cgroups.Memory])
}

// Each controller has its own version. A unified hierarchy without controllers is not cgroup v2 (B.7). Mount points may
// have spaces, and the shortest one of several counts.
func TestProbe_CG42_Mounts(t *testing.T) {
	found := cgroups.Probe(mountFiles{cgroupstest.New(cgroupstest.Config{Mode: "v1"}), `
32 31 0:29 / /host/sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
34 31 0:33 / /sys/fs/cgroup/my\040memory rw shared:3 master:4 - cgroup cgroup rw,memory,x
35 31 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
`}, testRoot(t))
	assert.Equal(t, cgroups.Hierarchy{Version: cgroups.V1, Mount: "/sys/fs/cgroup/cpu"}, found.Controllers[cgroups.CPU])
	assert.Equal(t, cgroups.ModeV1, found.Mode())
	assert.Equal(t, cgroups.Hierarchy{}, found.Controllers[cgroups.Memory], "no such directory in this host")
}

// A probe that was interrupted is cleaned up by the next one. A root with pods stays.
func TestProbe_CG42_Leftovers(t *testing.T) {
	dir, _ := newHost(t, "v1")
	for _, name := range []string{"/sys/fs/cgroup/pids/podkeel-test", "/sys/fs/cgroup/pids/podkeel-test/probe", "/sys/fs/cgroup/pids/podkeel-test/pod1"} {
		assert.NoError(t, dir.Mkdir(name))
	}
	assert.Equal(t, cgroups.Ready, cgroups.Probe(dir, testRoot(t)).State)
	assert.Equal(t, []string{"/sys/fs/cgroup/pids/podkeel-test", "/sys/fs/cgroup/pids/podkeel-test/pod1"}, dir.Groups())
}
