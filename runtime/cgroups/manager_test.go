package cgroups_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// modes are the kinds of hosts.
var modes = []string{"v1", "hybrid", "v2"}

// newManager returns a manager of a host.
func newManager(t *testing.T, config cgroupstest.Config) (*cgroups.Manager, *cgroupstest.Dir) {
	t.Helper()
	dir := cgroupstest.New(config)
	m, err := cgroups.New(cgroups.Config{Root: testRoot(t), Capabilities: cgroups.Probe(dir, testRoot(t)), Files: dir})
	require.NoError(t, err)
	dir.Calls()
	return m, dir
}

// podValues are the values of a Burstable pod.
func podValues() podresources.PodValues {
	return podresources.PodValues{
		QOSClass: v1.PodQOSBurstable, CPUShares: podresources.Finite(512), CPUQuota: podresources.Finite(50000), CPUPeriod: podresources.Finite(100000),
		Memory: podresources.Finite(64 << 20), PIDs: podresources.Finite(100),
	}
}

// memoryPath returns the directory of a pod in the hierarchy of the controller memory.
func memoryPath(mode, dir string) string {
	if mode == "v2" {
		return "/sys/fs/cgroup" + dir
	}
	return "/sys/fs/cgroup/memory" + dir
}

// changes returns the calls that change something.
func changes(dir *cgroupstest.Dir) (made []string) {
	for _, call := range dir.Calls() {
		if !strings.HasPrefix(call, "Read") {
			made = append(made, call)
		}
	}
	return made
}

// An unchanged generation reads nothing. Another generation, and generation 0, repairs what another program changed
// (CG-43).
func TestEnsure_CG43_Generations(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		where, err := m.Ensure("1", podValues(), 7)
		require.NoError(t, err)
		assert.Equal(t, "/podkeel-test/burstable/pod1", where)
		assert.NotEmpty(t, changes(dir))

		where, err = m.Ensure("1", podValues(), 7)
		require.NoError(t, err)
		assert.Equal(t, "/podkeel-test/burstable/pod1", where)
		assert.Empty(t, dir.Calls(), "the generation is unchanged")

		for _, generation := range []int64{8, 0, 0} {
			_, err = m.Ensure("1", podValues(), generation)
			require.NoError(t, err)
			assert.Empty(t, changes(dir), "nothing to repair")
			file := memoryPath(mode, where) + map[bool]string{true: "/memory.max", false: "/memory.limit_in_bytes"}[mode == "v2"]
			dir.SetFile(file, "4096")
			next := generation + 1
			if generation == 0 {
				next = 0
			}
			_, err = m.Ensure("1", podValues(), next)
			require.NoError(t, err)
			assert.Equal(t, []string{"WriteFile " + file + " 67108864"}, changes(dir))
		}

		// Another class is another directory, also with the same generation.
		other := podValues()
		other.QOSClass = v1.PodQOSGuaranteed
		where, err = m.Ensure("1", other, 1)
		require.NoError(t, err)
		assert.Equal(t, "/podkeel-test/pod1", where)
		assert.NotEmpty(t, changes(dir))
		require.NoError(t, m.Remove(t.Context(), "1"))
		assert.NotContains(t, strings.Join(dir.Groups(), "\n"), "pod1", "both directories are removed")
	}
}

// The cgroup of the BestEffort pods has the minimum of shares. The cgroup of the Burstable pods has the shares that
// the caller passes (CG-5, CG-6).
func TestEnsureQOS_CG5_CG6(t *testing.T) {
	for mode, want := range map[string][2]string{"v1": {"2", "3000"}, "hybrid": {"2", "3000"}, "v2": {"1", "115"}} {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		file := map[bool]string{true: "/sys/fs/cgroup/podkeel-test/", false: "/sys/fs/cgroup/cpu/podkeel-test/"}[mode == "v2"]
		name := map[bool]string{true: "/cpu.weight", false: "/cpu.shares"}[mode == "v2"]
		for range 2 {
			require.NoError(t, m.EnsureQOS(cgroups.QOSValues{
				Root: cgroups.Values{PIDs: podresources.Finite(1000)}, Burstable: cgroups.Values{CPUShares: podresources.Finite(3000)},
			}))
		}
		for i, class := range []string{"besteffort", "burstable"} {
			text, err := dir.ReadFile(file + class + name)
			require.NoError(t, err)
			assert.Equal(t, want[i]+"\n", string(text))
		}
		dir.Calls()
		values := podresources.PodValues{QOSClass: v1.PodQOSBestEffort, CPUShares: podresources.Finite(2)}
		_, err := m.Ensure("1", values, 1)
		require.NoError(t, err)
		assert.NotContains(t, strings.Join(changes(dir), "\n"), "burstable", "the pod of another class changes nothing there")
		require.NoError(t, m.Remove(t.Context(), "1"))
		require.NoError(t, m.RemoveRoot())
		assert.Empty(t, dir.Groups())
	}
}

// A pod's own cgroup gets its parents' minimum even if EnsureQOS was never called.
func TestEnsure_CG5_WithoutEnsureQOS(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	_, err := m.Ensure("1", podresources.PodValues{QOSClass: v1.PodQOSBestEffort}, 1)
	require.NoError(t, err)
	text, err := dir.ReadFile("/sys/fs/cgroup/cpu/podkeel-test/besteffort/cpu.shares")
	require.NoError(t, err)
	assert.Equal(t, "2\n", string(text))
}

// A write that fails is an error that names the file, the other controllers are written, and the next Ensure writes the
// rest although the generation is the same (CG-9).
func TestEnsure_CG9_FailedWrite(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	dir.Fail(func(call, path string) error {
		if call == "WriteFile" && strings.HasSuffix(path, "memory.limit_in_bytes") {
			return syscall.EBUSY
		}
		return nil
	})
	where, err := m.Ensure("1", podValues(), 1)
	assert.Equal(t, "/podkeel-test/burstable/pod1", where, "only memory is in use")
	assert.ErrorIs(t, err, cgroups.ErrBusy)
	assert.ErrorIs(t, err, syscall.EBUSY)
	assert.ErrorContains(t, err, "memory.limit_in_bytes")
	text, _ := dir.ReadFile("/sys/fs/cgroup/pids/podkeel-test/burstable/pod1/pids.max")
	assert.Equal(t, "100\n", string(text))

	dir.Fail(nil)
	dir.Calls()
	_, err = m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"WriteFile /sys/fs/cgroup/memory/podkeel-test/burstable/pod1/memory.limit_in_bytes 67108864"}, changes(dir))

	dir.Fail(func(call, path string) error {
		if call == "WriteFile" && (strings.HasSuffix(path, "memory.limit_in_bytes") || strings.HasSuffix(path, "pids.max")) {
			return syscall.EBUSY
		}
		return nil
	})
	values := podValues()
	values.Memory, values.PIDs = podresources.Finite(1<<20), podresources.Finite(5)
	where, err = m.Ensure("1", values, 2)
	assert.Empty(t, where, "another value is missing too")
	assert.ErrorIs(t, err, cgroups.ErrBusy)
}

// After a failed Ensure an older generation is not trusted either: some values of the newer one may be written.
func TestEnsure_CG9_OlderGenerationAfterFailure(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	_, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	dir.Fail(func(call, path string) error {
		if call == "WriteFile" && strings.HasSuffix(path, "memory.limit_in_bytes") {
			return syscall.EBUSY
		}
		return nil
	})
	smaller := podValues()
	smaller.Memory, smaller.PIDs = podresources.Finite(1<<20), podresources.Finite(5)
	_, err = m.Ensure("1", smaller, 2)
	require.ErrorIs(t, err, cgroups.ErrBusy)
	dir.Fail(nil)
	_, err = m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	text, err := dir.ReadFile("/sys/fs/cgroup/pids/podkeel-test/burstable/pod1/pids.max")
	require.NoError(t, err)
	assert.Equal(t, "100\n", string(text))
}

// A quota below the quota of a container is refused by the kernel, and is a typed error.
func TestEnsure_CG15_ContainerHasMore(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	_, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	const container = "/sys/fs/cgroup/cpu/podkeel-test/burstable/pod1/c"
	require.NoError(t, dir.Mkdir(container))
	require.NoError(t, dir.WriteFile(container+"/cpu.cfs_quota_us", []byte("40000")))
	values := podValues()
	values.CPUQuota = podresources.Finite(30000)
	_, err = m.Ensure("1", values, 2)
	assert.ErrorIs(t, err, cgroups.ErrRejected)
	require.NoError(t, dir.WriteFile(container+"/cpu.cfs_quota_us", []byte("20000")))
	_, err = m.Ensure("1", values, 2)
	assert.NoError(t, err)
}

// A directory that cannot be created, and a file that cannot be read, are errors.
func TestEnsure_Errors(t *testing.T) {
	for _, failing := range []string{"Mkdir", "ReadDir", "ReadFile"} {
		m, dir := newManager(t, cgroupstest.Config{Mode: "v2"})
		dir.Fail(func(call, _ string) error {
			if call == failing {
				return syscall.EIO
			}
			return nil
		})
		_, err := m.Ensure("1", podValues(), 1)
		assert.ErrorIs(t, err, syscall.EIO, failing)
		assert.ErrorContains(t, err, "pod 1")
		if failing == "Mkdir" {
			assert.ErrorIs(t, m.EnsureQOS(cgroups.QOSValues{}), syscall.EIO)
		}
	}
	m, _ := newManager(t, cgroupstest.Config{})
	for _, uid := range []types.UID{"", "..", "a/b"} {
		_, err := m.Ensure(uid, podValues(), 1)
		assert.ErrorIs(t, err, cgroups.ErrInvalidName)
		assert.ErrorIs(t, m.Remove(t.Context(), uid), cgroups.ErrInvalidName)
		_, err = m.ReadUsage(uid)
		assert.ErrorIs(t, err, cgroups.ErrInvalidName)
	}
}

// On a host without rights pods have no cgroup and nothing fails (B.7).
func TestManager_CG42_WithoutRights(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1", ReadOnly: true})
	where, err := m.Ensure("1", podValues(), 1)
	assert.NoError(t, err)
	assert.Empty(t, where)
	assert.NoError(t, m.EnsureQOS(cgroups.QOSValues{}))
	assert.NoError(t, m.Remove(t.Context(), "1"))
	assert.NoError(t, m.RemoveRoot())
	uids, err := m.List()
	assert.NoError(t, err)
	assert.Empty(t, uids)
	_, err = m.ReadUsage("1")
	assert.ErrorIs(t, err, cgroups.ErrUnavailable)
	_, err = m.ReadOOM("1")
	assert.ErrorIs(t, err, cgroups.ErrUnavailable)
	assert.Empty(t, dir.Calls())
	assert.Equal(t, cgroups.NotWritable, m.Capabilities().State)
}

func TestNew_InvalidConfig(t *testing.T) {
	_, err := cgroups.New(cgroups.Config{RemoveAttempts: -1, RemoveDelay: -1})
	assert.EqualError(t, err, "cgroups: invalid Config: Root is not set: use RootForOwner; RemoveAttempts is negative; RemoveDelay is negative")
}

// Children are removed before their parents, in every hierarchy, also those that the runtime alone uses (CG-18).
func TestRemove_CG18_ChildrenFirst(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		_, err = m.Ensure("2", podValues(), 1)
		require.NoError(t, err)
		for _, group := range dir.Groups() {
			if strings.HasSuffix(group, where) {
				require.NoError(t, dir.Mkdir(group+"/container"))
				require.NoError(t, dir.Mkdir(group+"/container/nested"))
			}
		}
		if mode != "v2" {
			for _, name := range []string{"/podkeel-test", "/podkeel-test/burstable", where} {
				require.NoError(t, dir.Mkdir("/sys/fs/cgroup/freezer"+name), "as a runtime does")
			}
		}
		for range 2 {
			require.NoError(t, m.Remove(t.Context(), "1"), "a missing cgroup is no error")
			groups := strings.Join(dir.Groups(), "\n")
			assert.NotContains(t, groups, "pod1")
			assert.Contains(t, groups, "pod2")
		}
		assert.ErrorIs(t, m.RemoveRoot(), cgroups.ErrBusy, "a pod is left")
		require.NoError(t, m.Remove(t.Context(), "2"))
		require.NoError(t, m.RemoveRoot())
		assert.Empty(t, dir.Groups())
	}
}

// filesWithoutKill is a file system that is no ProcessKiller.
type filesWithoutKill struct{ cgroups.Files }

// Processes are killed by the kill file. Where there is none and Files kills no process, Remove waits, tries again, and
// gives up with an error that lists them (CG-16, XB-31).
func TestRemove_CG16_XB31_Busy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, mode := range []string{"hybrid", "v2"} {
			m, dir := newManager(t, cgroupstest.Config{Mode: mode})
			where, err := m.Ensure("1", podValues(), 1)
			require.NoError(t, err)
			dir.SetProcesses(memoryPath(mode, where), 41)
			if mode == "hybrid" { // The runtime creates it.
				for _, name := range []string{"/podkeel-test", "/podkeel-test/burstable", where} {
					require.NoError(t, dir.Mkdir("/sys/fs/cgroup/unified"+name))
				}
			}
			begin := time.Now()
			require.NoError(t, m.Remove(t.Context(), "1"))
			assert.Zero(t, time.Since(begin))
		}

		other, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
		m, err := cgroups.New(cgroups.Config{Root: testRoot(t), Capabilities: other.Capabilities(), Files: filesWithoutKill{dir}})
		require.NoError(t, err)
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		dir.SetProcesses("/sys/fs/cgroup/memory"+where, 41, 42, 43, 44, 45, 46, 47, 48, 49)
		begin := time.Now()
		err = m.Remove(t.Context(), "1")
		busy := (*cgroups.BusyError)(nil)
		require.ErrorAs(t, err, &busy)
		assert.ErrorIs(t, err, cgroups.ErrBusy)
		assert.Equal(t, []int{41, 42, 43, 44, 45, 46, 47, 48}, busy.PIDs)
		assert.Equal(t, "/sys/fs/cgroup/memory"+where, busy.Path)
		assert.Contains(t, err.Error(), "[41 42")
		assert.Equal(t, 635*time.Millisecond, time.Since(begin), "seven waits, from 5 ms, doubled")

		// The processes exit during a wait.
		go func() {
			time.Sleep(30 * time.Millisecond)
			dir.SetProcesses("/sys/fs/cgroup/memory" + where)
		}()
		require.NoError(t, m.Remove(t.Context(), "1"))

		// The end of the context ends the wait.
		_, err = m.Ensure("1", podValues(), 1)
		require.NoError(t, err, "the removal is recorded")
		dir.SetProcesses("/sys/fs/cgroup/memory"+where, 41)
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Millisecond)
		defer cancel()
		begin = time.Now()
		err = m.Remove(ctx, "1")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, err, cgroups.ErrBusy)
		assert.Equal(t, 12*time.Millisecond, time.Since(begin))
	})
}

// After a removal Ensure creates the cgroup again, with the same generation.
func TestEnsure_AfterRemove(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{})
	for range 2 {
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		assert.Contains(t, dir.Groups(), "/sys/fs/cgroup"+where)
		require.NoError(t, m.Remove(t.Context(), "1"))
	}
}

// Another error of a removal is not repeated, and nesting is bounded.
func TestRemove_Errors(t *testing.T) {
	for _, failing := range []string{"Remove", "ReadDir"} {
		m, dir := newManager(t, cgroupstest.Config{})
		_, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		calls := 0
		dir.Fail(func(call, path string) error {
			if call == failing && strings.HasSuffix(path, "pod1") {
				calls++
				return syscall.EPERM
			}
			return nil
		})
		assert.ErrorIs(t, m.Remove(t.Context(), "1"), syscall.EPERM)
		assert.NotZero(t, calls)
		assert.LessOrEqual(t, calls, 3, "once for each class")
		if failing == "Remove" {
			dir.Fail(func(string, string) error { return syscall.EPERM })
			assert.ErrorIs(t, m.RemoveRoot(), syscall.EPERM)
		}
	}
	m, dir := newManager(t, cgroupstest.Config{})
	where, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	name := "/sys/fs/cgroup" + where
	for range 65 {
		name += "/n"
		require.NoError(t, dir.Mkdir(name))
	}
	assert.ErrorContains(t, m.Remove(t.Context(), "1"), "more than 64 levels")
	require.NoError(t, dir.Remove(name))
	assert.NoError(t, m.Remove(t.Context(), "1"))
}

// The list has each pod of this root in any hierarchy once, and nothing else: the pods of another agent and of a kubelet
// are not orphans of this one (CG-17).
func TestList_CG17_OtherRoots(t *testing.T) {
	for _, mode := range modes {
		m, dir := newManager(t, cgroupstest.Config{Mode: mode})
		uids, err := m.List()
		require.NoError(t, err)
		assert.Empty(t, uids)
		for _, uid := range []types.UID{"b", "a-pod", "a"} {
			_, err := m.Ensure(uid, podValues(), 1)
			require.NoError(t, err)
		}
		guaranteed := podValues()
		guaranteed.QOSClass = v1.PodQOSGuaranteed
		_, err = m.Ensure("c", guaranteed, 1)
		require.NoError(t, err)
		mount := memoryPath(mode, "")
		for _, name := range []string{
			"/podkeel-test/podleft", "/podkeel-test/other", "/podkeel-test/pod", "/podkeel-test/podb!d", "/podkeel-test/burstable/poda/podinner",
			"/kubepods", "/kubepods/podforeign", "/podkeel-other", "/podkeel-other/podforeign", "/podforeign",
		} {
			require.NoError(t, dir.Mkdir(mount+name))
		}
		uids, err = m.List()
		require.NoError(t, err)
		assert.Equal(t, []types.UID{"a", "a-pod", "b", "c", "left"}, uids)
		assert.NoError(t, m.Remove(t.Context(), "foreign"))
		assert.Contains(t, dir.Groups(), mount+"/kubepods/podforeign")
		assert.Contains(t, dir.Groups(), mount+"/podforeign")
		dir.Fail(func(string, string) error { return syscall.EIO })
		_, err = m.List()
		assert.ErrorIs(t, err, syscall.EIO)
	}
}

// No sequence of UIDs makes a removal touch a directory outside the cgroups of pods in the root.
func FuzzRemove(f *testing.F) {
	for _, text := range []string{"1", "..", "../..", "a/b", "pod", "-", "x\x00y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, uid string) {
		dir := cgroupstest.New(cgroupstest.Config{Mode: "hybrid"})
		m, err := cgroups.New(cgroups.Config{Root: testRoot(t), Capabilities: cgroups.Probe(dir, testRoot(t)), Files: dir})
		require.NoError(t, err)
		_, _ = m.Ensure(types.UID(uid), podValues(), 1)
		_, err = m.Ensure("kept", podValues(), 1)
		require.NoError(t, err)
		dir.Calls()
		_ = m.Remove(t.Context(), types.UID(uid))
		for _, call := range changes(dir) {
			assert.Contains(t, call, "/podkeel-test/")
			assert.Contains(t, call, "pod"+uid)
		}
		if uid != "kept" {
			uids, err := m.List()
			require.NoError(t, err)
			assert.Equal(t, []types.UID{"kept"}, uids)
		}
	})
}

// Concurrent calls for one pod and for others end with every value set.
func TestManager_Concurrent(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	done := make(chan error)
	for i := range 40 {
		go func() {
			uid := types.UID(rune('a' + i%4))
			_, err := m.Ensure(uid, podValues(), int64(i))
			_, listErr := m.List()
			_, usageErr := m.ReadUsage(uid)
			done <- errors.Join(err, listErr, usageErr)
		}()
	}
	for range 40 {
		assert.NoError(t, <-done)
	}
	assert.NoError(t, dir.Check())
}

// On cgroup v2 a memory limit is not written while the pod uses more, because the kernel would kill processes. The pages
// that the kernel can reclaim do not count. The other values are written, and the limit follows later (RZ-43).
func TestEnsure_RZ43_MemoryInUseOnV2(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v2"})
	const group = "/sys/fs/cgroup/podkeel-test/burstable/pod1/"
	read := func(name string) string {
		text, err := dir.ReadFile(group + name)
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	_, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	smaller := podValues()
	smaller.Memory, smaller.PIDs = podresources.Finite(16<<20), podresources.Finite(5)
	dir.SetFile(group+"memory.current", strconv.Itoa(20<<20))
	dir.SetFile(group+"memory.stat", "inactive_file "+strconv.Itoa(4<<20))
	where, err := m.Ensure("1", smaller, 2)
	require.ErrorIs(t, err, cgroups.ErrBusy)
	require.ErrorContains(t, err, "cannot write 16777216 to "+group+"memory.max: the pod uses more memory")
	assert.Equal(t, "/podkeel-test/burstable/pod1", where)
	assert.Equal(t, []string{strconv.Itoa(64 << 20), "5"}, []string{read("memory.max"), read("pids.max")})
	dir.SetFile(group+"memory.stat", "inactive_file "+strconv.Itoa(5<<20))
	_, err = m.Ensure("1", smaller, 2)
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(16<<20), read("memory.max"))
}
