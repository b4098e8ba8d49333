package cgroups_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
)

// The tests named TestHost_ work on the real cgroups of the machine, of either version. A static test binary runs them
// alone, also in a virtual machine without any other program. `.ci/run v2` boots one that has cgroup v2 only:
//
//	CGO_ENABLED=0 go test -c ./runtime/cgroups && ./cgroups.test -test.v -test.run TestHost_

// host is the real host with a root of this process.
type host struct {
	files   cgroups.HostFiles
	root    cgroups.Root
	c       cgroups.Capabilities
	manager *cgroups.Manager
}

// newTestHost returns the real host, or skips the test where cgroups cannot be created. After the test no cgroup of it
// may be left. Cgroups of an earlier test process that has not removed them are removed first.
func newTestHost(t *testing.T) *host {
	t.Helper()
	root, err := cgroups.RootForOwner(fmt.Sprintf("test-%d", os.Getpid()))
	require.NoError(t, err)
	h := &host{files: cgroups.NewHostFiles("/"), root: root}
	h.c = cgroups.Probe(h.files, root)
	if h.c.State != cgroups.Ready {
		t.Skipf("no cgroups here: %v: %s", h.c.State, h.c.Reason)
	}
	t.Logf("mode %s, swap %v, PSI %v, kill file %v, memory %+v", h.c.Mode(), h.c.Swap, h.c.PSI, h.c.KillFile, h.c.Controllers[cgroups.Memory])
	h.removeStaleRoots(t)
	h.manager, err = cgroups.New(cgroups.Config{Root: root, Capabilities: h.c})
	require.NoError(t, err)
	t.Cleanup(func() {
		h.removeAll(t, h.manager)
		for _, mount := range h.mounts() {
			assert.NoDirExists(t, path.Join(mount, root.String()))
		}
	})
	return h
}

// mounts returns the mount points of all hierarchies.
func (h *host) mounts() []string {
	mounts := map[string]bool{}
	for _, controller := range h.c.Controllers {
		mounts[controller.Mount] = true
	}
	mounts[h.c.Unified] = true
	delete(mounts, "")
	var out []string
	for mount := range mounts {
		out = append(out, mount)
	}
	return out
}

// removeAll removes all pods and the root of a manager.
func (h *host) removeAll(t *testing.T, m *cgroups.Manager) {
	uids, err := m.List()
	assert.NoError(t, err)
	for _, uid := range uids {
		assert.NoError(t, m.Remove(t.Context(), uid))
	}
	assert.NoError(t, m.RemoveRoot())
}

// removeStaleRoots removes the roots of test processes that do not run any longer.
func (h *host) removeStaleRoots(t *testing.T) {
	for _, mount := range h.mounts() {
		names, _ := filepath.Glob(path.Join(mount, "podkeel-test-*"))
		for _, name := range names {
			owner := strings.TrimPrefix(path.Base(name), "podkeel-")
			pid, err := strconv.Atoi(strings.TrimPrefix(owner, "test-"))
			if _, statErr := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil || statErr == nil {
				continue
			}
			root, err := cgroups.RootForOwner(owner)
			require.NoError(t, err)
			m, err := cgroups.New(cgroups.Config{Root: root, Capabilities: h.c})
			require.NoError(t, err)
			h.removeAll(t, m)
		}
	}
}

// file returns the path of a file of a pod's cgroup.
func (h *host) file(controller cgroups.Controller, dir, nameOnV1, nameOnV2 string) string {
	at := h.c.Controllers[controller]
	if at.Version == cgroups.V2 {
		return path.Join(at.Mount, dir, nameOnV2)
	}
	return path.Join(at.Mount, dir, nameOnV1)
}

// read returns the content of a real file.
func read(t require.TestingT, name string) string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// checkPod compares every file of a pod's cgroup with the wanted values.
func (h *host) checkPod(t *testing.T, dir string, v podresources.PodValues) {
	t.Helper()
	number := func(v podresources.Value) string {
		if v.IsUnlimited() {
			return "max"
		}
		return v.String()
	}
	if at := h.c.Controllers[cgroups.CPU]; at.Version == cgroups.V2 {
		shares, _ := v.CPUShares.Number()
		assert.Equal(t, strconv.FormatInt(podresources.WeightFromShares(shares), 10), read(t, path.Join(at.Mount, dir, "cpu.weight")))
		assert.Equal(t, number(v.CPUQuota)+" "+number(v.CPUPeriod), read(t, path.Join(at.Mount, dir, "cpu.max")))
	} else if at.Version == cgroups.V1 {
		assert.Equal(t, v.CPUShares.String(), read(t, path.Join(at.Mount, dir, "cpu.shares")))
		assert.Equal(t, strings.Replace(number(v.CPUQuota), "max", "-1", 1), read(t, path.Join(at.Mount, dir, "cpu.cfs_quota_us")))
		assert.Equal(t, number(v.CPUPeriod), read(t, path.Join(at.Mount, dir, "cpu.cfs_period_us")))
	}
	if at := h.c.Controllers[cgroups.Memory]; at.Version != 0 {
		text := read(t, h.file(cgroups.Memory, dir, "memory.limit_in_bytes", "memory.max"))
		assert.Equal(t, number(v.Memory), strings.Replace(text, "9223372036854771712", "max", 1))
	}
	if h.c.Controllers[cgroups.PIDs].Version != 0 {
		assert.Equal(t, number(v.PIDs), read(t, h.file(cgroups.PIDs, dir, "pids.max", "pids.max")))
	}
}

// On the real kernel the cgroup of a pod of each class has every value, keeps it, follows larger, smaller and removed
// limits, and is repaired (CG-10, CG-12, CG-41, CG-43).
func TestHost_CG10_CG12_CG41_CG43_Values(t *testing.T) {
	h := newTestHost(t)
	for _, class := range []v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort} {
		uid := types.UID(strings.ToLower(string(class)))
		generation := int64(0)
		for _, v := range []struct{ shares, quota, memory, pids string }{
			{"512", "50000", "67108864", "100"}, {"1024", "150000", "134217728", "200"}, {"100", "20000", "33554432", "10"}, {"2", "max", "max", "max"}, {"2048", "1000", "4194304", "1"},
		} {
			values := podresources.PodValues{
				QOSClass: class, CPUShares: parseValue(v.shares), CPUQuota: parseValue(v.quota), CPUPeriod: podresources.Finite(100000),
				Memory: parseValue(v.memory), PIDs: parseValue(v.pids),
			}
			generation++
			dir, err := h.manager.Ensure(uid, values, generation)
			require.NoError(t, err)
			h.checkPod(t, dir, values)

			// Another program changes values, and the next generation repairs them.
			require.NoError(t, os.WriteFile(h.file(cgroups.PIDs, dir, "pids.max", "pids.max"), []byte("77"), 0))
			require.NoError(t, os.WriteFile(h.file(cgroups.CPU, dir, "cpu.shares", "cpu.weight"), []byte("99"), 0))
			_, err = h.manager.Ensure(uid, values, generation)
			require.NoError(t, err)
			assert.Equal(t, "77", read(t, h.file(cgroups.PIDs, dir, "pids.max", "pids.max")), "the same generation reads nothing")
			generation++
			_, err = h.manager.Ensure(uid, values, generation)
			require.NoError(t, err)
			h.checkPod(t, dir, values)
		}
	}
	require.NoError(t, h.manager.EnsureQOS(cgroups.QOSValues{Burstable: cgroups.Values{CPUShares: podresources.Finite(3000)}}))
	want := map[bool][2]string{true: {"115", "1"}, false: {"3000", "2"}}[h.c.Controllers[cgroups.CPU].Version == cgroups.V2]
	assert.Equal(t, want[0], read(t, h.file(cgroups.CPU, h.root.String()+"/burstable", "cpu.shares", "cpu.weight")))
	assert.Equal(t, want[1], read(t, h.file(cgroups.CPU, h.root.String()+"/besteffort", "cpu.shares", "cpu.weight")))
	uids, err := h.manager.List()
	require.NoError(t, err)
	assert.Equal(t, []types.UID{"besteffort", "burstable", "guaranteed"}, uids)
}

// The real kernel accepts each write of random plans for a root, its QoS classes and its pods (CG-15).
func TestHost_CG15_KernelAcceptsPlans(t *testing.T) {
	h := newTestHost(t)
	require.NoError(t, h.manager.EnsureQOS(cgroups.QOSValues{}))
	inRoot := func(groups []cgroups.Group) []cgroups.Group {
		for i := range groups {
			groups[i].Dir = h.root.String() + strings.TrimPrefix(groups[i].Dir, "/r")
		}
		return groups
	}
	t.Cleanup(func() {
		for _, dir := range []string{"/burstable/pod1/c", "/pod2/c"} {
			for _, mount := range h.mounts() {
				_ = os.Remove(path.Join(mount, h.root.String(), dir))
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		// The kernel itself uses some pages of a cgroup with children, more while other processes run.
		want := inRoot(drawGroups(t, "want", 16<<20))
		for round := range 2 {
			have, err := cgroups.Read(h.files, h.c, want)
			require.NoError(t, err)
			writes := cgroups.Plan(h.c, want, have)
			if round > 0 {
				require.Empty(t, writes)
			}
			for _, w := range writes {
				if w.Mkdir {
					require.NoError(t, h.files.Mkdir(w.Path))
				} else {
					require.NoError(t, h.files.WriteFile(w.Path, []byte(w.Content)), "%v", w)
				}
			}
		}
	})
}

// The values that only cgroup v2 has, on the real kernel.
func TestHost_V2Values(t *testing.T) {
	h := newTestHost(t)
	if h.c.Controllers[cgroups.Memory].Version != cgroups.V2 {
		t.Skip("the controller memory is not on cgroup v2 here")
	}
	group := cgroups.Group{Dir: h.root.String(), Values: cgroups.Values{
		Memory: podresources.Finite(64 << 20), MemoryHigh: podresources.Finite(48 << 20), MemorySwap: podresources.Finite(96 << 20), OOMGroup: podresources.Finite(1),
	}}
	for _, want := range []map[string]string{
		{"memory.max": "67108864", "memory.high": "50331648", "memory.oom.group": "1", "memory.swap.max": "33554432"},
		{"memory.max": "max", "memory.high": "max", "memory.oom.group": "0", "memory.swap.max": "max"},
	} {
		require.NoError(t, h.manager.EnsureQOS(cgroups.QOSValues{Root: group.Values}))
		for file, content := range want {
			if file != "memory.swap.max" || h.c.Swap {
				assert.Equal(t, content, read(t, path.Join(h.c.Unified, group.Dir, file)), file)
			}
		}
		max := podresources.Unlimited()
		group.Values = cgroups.Values{Memory: max, MemoryHigh: max, MemorySwap: max, OOMGroup: podresources.Finite(0)}
	}
}

// The files of the host follow no symbolic link, and change nothing but directories and existing regular files.
func TestHostFiles_Links(t *testing.T) {
	base := t.TempDir()
	files := cgroups.NewHostFiles(base)
	require.NoError(t, files.Mkdir("/a"))
	assert.ErrorIs(t, files.Mkdir("/a"), os.ErrExist)
	require.NoError(t, files.Mkdir("/a/b"))
	require.NoError(t, os.WriteFile(filepath.Join(base, "a", "file"), []byte("old"), 0o600))
	require.NoError(t, files.WriteFile("/a/file", []byte("new")))
	text, err := files.ReadFile("/a/file")
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	names, err := files.ReadDir("/a")
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, names, "directories only")
	names, err = files.ReadDir("/")
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, names)
	for _, name := range []string{"/missing", "/missing/x"} {
		_, err = files.ReadDir(name)
		assert.ErrorIs(t, err, os.ErrNotExist)
		_, err = files.ReadFile(name)
		assert.ErrorIs(t, err, os.ErrNotExist)
		assert.ErrorIs(t, files.WriteFile(name, nil), os.ErrNotExist)
		assert.ErrorIs(t, files.Remove(name), os.ErrNotExist)
	}
	assert.Error(t, files.Remove("/a/file"), "not a directory")
	assert.Error(t, files.Remove("/a"), "not empty")
	assert.FileExists(t, filepath.Join(base, "a", "file"))

	if runtime.GOOS == "windows" {
		return
	}
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("kept"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(outside, "dir"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(base, "link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(base, "a", "secret")))
	assert.Error(t, files.Mkdir("/link/new"))
	assert.Error(t, files.Remove("/link/dir"))
	assert.Error(t, files.Remove("/link"))
	assert.Error(t, files.WriteFile("/link/secret", []byte("lost")))
	assert.Error(t, files.WriteFile("/a/secret", []byte("lost")))
	_, err = files.ReadDir("/link")
	assert.Error(t, err)
	_, err = files.ReadFile("/link/secret")
	assert.Error(t, err)
	assert.NoError(t, files.Remove("/../a/b"), "a path cannot leave the base")
	content, err := os.ReadFile(filepath.Join(outside, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "kept", string(content))
	assert.DirExists(t, filepath.Join(outside, "dir"))
}
