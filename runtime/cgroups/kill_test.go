package cgroups_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cgroups/cgroupstest"
)

// The processes that are left in the cgroup of a pod are killed in every hierarchy and every cgroup in it, at the first
// attempt. The processes of another pod and of the root live (CG-16).
func TestRemove_CG16_KillsProcesses(t *testing.T) {
	for _, mode := range []string{"v1", "hybrid"} {
		synctest.Test(t, func(t *testing.T) {
			m, dir := newManager(t, cgroupstest.Config{Mode: mode})
			where, err := m.Ensure("1", podValues(), 1)
			require.NoError(t, err)
			neighbor, err := m.Ensure("2", podValues(), 1)
			require.NoError(t, err)
			for _, name := range []string{"/a", "/a/b", "/c"} {
				require.NoError(t, dir.Mkdir("/sys/fs/cgroup/memory"+where+name))
			}
			dir.SetProcesses("/sys/fs/cgroup/memory"+where+"/a/b", 41)
			dir.SetProcesses("/sys/fs/cgroup/memory"+where+"/a", 42)
			dir.SetProcesses("/sys/fs/cgroup/memory"+where+"/c", 43)
			dir.SetProcesses("/sys/fs/cgroup/pids"+where, 44)
			dir.SetProcesses("/sys/fs/cgroup/pids"+neighbor, 45)
			dir.SetProcesses("/sys/fs/cgroup/pids/podkeel-test", 46)
			dir.Calls()
			require.NoError(t, m.Remove(t.Context(), "1"))
			kills := map[string]bool{}
			for _, call := range dir.Calls() {
				if name, ok := strings.CutPrefix(call, "KillProcesses /sys/fs/cgroup/"); ok {
					kills[strings.Replace(name, where, " pod1", 1)] = true
				}
			}
			assert.Equal(t, map[string]bool{"memory pod1/a/b": true, "memory pod1/a": true, "memory pod1/c": true, "memory pod1": true, "pids pod1": true}, kills)
			for name, pid := range map[string]string{"/sys/fs/cgroup/pids" + neighbor: "45\n", "/sys/fs/cgroup/pids/podkeel-test": "46\n"} {
				text, err := dir.ReadFile(name + "/cgroup.procs")
				require.NoError(t, err)
				assert.Equal(t, pid, string(text))
			}
			assert.ErrorIs(t, m.RemoveRoot(), cgroups.ErrBusy)
			for _, call := range dir.Calls() {
				assert.NotContains(t, call, "KillProcesses", "the root is no cgroup of a pod")
			}
		})
	}
}

// The unified hierarchy with the kill file kills no process by its ID, and an empty cgroup needs no kill (CG-16).
func TestRemove_CG16_KillFileFirst(t *testing.T) {
	m, dir := newManager(t, cgroupstest.Config{Mode: "v2"})
	where, err := m.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	dir.SetProcesses("/sys/fs/cgroup"+where, 41)
	require.NoError(t, m.Remove(t.Context(), "1"))
	v1, v1Dir := newManager(t, cgroupstest.Config{Mode: "v1"})
	_, err = v1.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	require.NoError(t, v1.Remove(t.Context(), "1"))
	for _, call := range append(dir.Calls(), v1Dir.Calls()...) {
		assert.NotContains(t, call, "KillProcesses")
	}
}

// A process that cannot be killed is an error with its ID and the reason, after the last attempt (CG-16, XB-31).
func TestRemove_CG16_XB31_CannotKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := newManager(t, cgroupstest.Config{Mode: "v1"})
		where, err := m.Ensure("1", podValues(), 1)
		require.NoError(t, err)
		dir.SetProcesses("/sys/fs/cgroup/memory"+where, 41)
		dir.Fail(func(call, _ string) error {
			if call == "KillProcesses" {
				return syscall.EPERM
			}
			return nil
		})
		dir.Calls()
		err = m.Remove(t.Context(), "1")
		busy := (*cgroups.BusyError)(nil)
		require.ErrorAs(t, err, &busy)
		assert.Equal(t, []int{41}, busy.PIDs)
		assert.ErrorIs(t, err, syscall.EPERM)
		assert.Equal(t, 8, strings.Count(strings.Join(dir.Calls(), "\n"), "KillProcesses"))
		dir.Fail(nil)
		require.NoError(t, m.Remove(t.Context(), "1"))
	})
}

// HostFiles kills only the processes whose IDs stand in the file of the directory itself. It follows no symbolic link, and
// a missing directory is no error.
func TestHostFiles_KillProcesses(t *testing.T) {
	base := t.TempDir()
	files := cgroups.NewHostFiles(base)
	assert.NoError(t, files.KillProcesses("/missing"))
	require.NoError(t, os.Mkdir(filepath.Join(base, "a"), 0o700))
	assert.NoError(t, files.KillProcesses("/a"), "without cgroup.procs")
	require.NoError(t, os.WriteFile(filepath.Join(base, "a", "cgroup.procs"), []byte("0\n1\nx\n-5\n"), 0o600))
	assert.NoError(t, files.KillProcesses("/a"), "0 and 1 are never killed")
	if err := os.Symlink(filepath.Join(base, "a"), filepath.Join(base, "link")); err == nil {
		assert.Error(t, files.KillProcesses("/link"))
	}
}
