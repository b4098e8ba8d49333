package cgroups_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/runtime/cgroups"
)

// helper is a process in a cgroup.
type helper struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// startHelper starts the test binary as a process in a cgroup below a pod, in every hierarchy that has one.
func (h *host) startHelper(t *testing.T, task, dir, name string) *helper {
	t.Helper()
	return h.startHelperIn(t, task, dir, name, cgroups.CPU, cgroups.CPUAccounting, cgroups.Memory, cgroups.PIDs)
}

// startHelperIn starts the test binary as a process in a cgroup below a pod, in the hierarchies of some controllers.
func (h *host) startHelperIn(t *testing.T, task, dir, name string, controllers ...cgroups.Controller) *helper {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperVariable + "=" + task, "GOMAXPROCS=1"}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &helper{cmd, stdin, bufio.NewReader(stdout)}
	t.Cleanup(p.stop)
	for _, controller := range controllers {
		at := h.c.Controllers[controller]
		if at.Mount == "" {
			continue
		}
		if at.Version == cgroups.V2 { // As a runtime does for its containers.
			require.NoError(t, os.WriteFile(path.Join(at.Mount, dir, "cgroup.subtree_control"), []byte("+memory +cpu +pids"), 0))
		}
		container := path.Join(at.Mount, dir, name)
		require.NoError(t, os.MkdirAll(container, 0o755))
		require.NoError(t, os.WriteFile(path.Join(container, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0))
	}
	return p
}

// begin lets the helper do its task.
func (p *helper) begin() { _, _ = io.WriteString(p.stdin, "\n") }

// waitDone waits until the task is done or the helper has exited, and returns whether it is done.
func (p *helper) waitDone() bool {
	line, _ := p.out.ReadString('\n')
	return line == "done\n"
}

// requireKilled waits for the exit of the helper, which somebody else must kill.
func (p *helper) requireKilled(t *testing.T) {
	t.Helper()
	err := (*exec.ExitError)(nil)
	require.ErrorAs(t, p.cmd.Wait(), &err)
	require.Equal(t, "signal: killed", err.Error())
}

// stop kills the helper and waits for its exit. It may be called again.
func (p *helper) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A process in the pod is measured (EV-31). The removal of the cgroup kills it, by the kill file or by its ID (CG-16,
// CG-18).
func TestHost_CG16_CG18_EV31_Process(t *testing.T) {
	h := newTestHost(t)
	dir, err := h.manager.Ensure("1", podValues(), 1)
	require.NoError(t, err)
	p := h.startHelper(t, "compute", dir, "container")
	p.begin()
	require.True(t, p.waitDone())
	usage, err := h.manager.ReadUsage("1")
	require.NoError(t, err)
	t.Logf("%+v", usage)
	for name, v := range map[string]podresources.Value{"cpu": usage.CPUNanoseconds, "memory": usage.Memory, "working set": usage.MemoryWorkingSet, "pids": usage.PIDs} {
		n, ok := v.Number()
		assert.True(t, ok, name)
		assert.Positive(t, n, name)
	}
	assert.False(t, usage.MemoryWorkingSet.Exceeds(usage.Memory))

	neighbor, err := h.manager.Ensure("2", podValues(), 1)
	require.NoError(t, err)
	other := h.startHelper(t, "wait", neighbor, "container")
	require.NoError(t, h.manager.Remove(t.Context(), "1"), "the removal kills the process")
	p.requireKilled(t)
	other.begin()
	assert.True(t, other.waitDone(), "a process of another pod lives")
}

// On cgroup v1 the removal kills the processes that are in the cgroup of the pod in one hierarchy alone, in nested cgroups,
// and that fork meanwhile. Processes of another pod and of the root live (CG-16).
func TestHost_CG16_KillsInEveryHierarchy(t *testing.T) {
	h := newTestHost(t)
	if h.c.Mode() == cgroups.ModeV2 {
		t.Skip("the controller memory is not on cgroup v1 here") // TestHost_CG16_CG18_EV31_Process tests the kill file.
	}
	values := podValues()
	values.PIDs, values.Memory = podresources.Unlimited(), podresources.Unlimited()
	dir, err := h.manager.Ensure("1", values, 1)
	require.NoError(t, err)
	neighbor, err := h.manager.Ensure("2", values, 1)
	require.NoError(t, err)
	var victims []*helper
	for _, controller := range []cgroups.Controller{cgroups.CPU, cgroups.Memory, cgroups.PIDs} {
		if h.c.Controllers[controller].Mount == "" {
			continue
		}
		for _, name := range []string{"", "a", "a/b"} {
			victims = append(victims, h.startHelperIn(t, "wait", dir, name, controller))
		}
	}
	forks := h.startHelper(t, "fork", dir, "bomb")
	forks.begin()
	lives := h.startHelper(t, "wait", neighbor, "container")
	require.NoError(t, h.manager.Remove(t.Context(), "1"))
	for _, p := range append(victims, forks) {
		p.requireKilled(t)
	}
	for _, mount := range h.mounts() {
		assert.NoDirExists(t, path.Join(mount, dir))
	}
	lives.begin()
	assert.True(t, lives.waitDone(), "a process of another pod lives")
}

// A container above the limit of the pod is killed, and the counters name it alone (OM-4, OM-5). Another container in the
// pod and the pod itself lose no process.
func TestHost_OM4_OM5_PodLimit(t *testing.T) {
	h := newTestHost(t)
	if h.c.Controllers[cgroups.Memory].Mount == "" {
		t.Skip("no controller memory here")
	}
	values := podValues()
	values.Memory = podresources.Finite(48 << 20)
	dir, err := h.manager.Ensure("1", values, 1)
	require.NoError(t, err)
	h.startHelper(t, "wait", dir, "innocent")
	p := h.startHelper(t, "allocate", dir, "victim")
	p.begin()
	require.False(t, p.waitDone(), "the kernel kills the process")
	counters, err := h.manager.ReadOOM("1")
	require.NoError(t, err)
	t.Logf("%+v", counters)
	require.Len(t, counters, 3)
	reached, _ := counters[0].LimitReached.Number()
	assert.Positive(t, reached, "the limit of the pod")
	if h.c.Controllers[cgroups.Memory].Version == cgroups.V2 {
		assert.Equal(t, podresources.Finite(1), counters[0].TreeKills)
		require.NoError(t, os.Remove(path.Join(h.c.Controllers[cgroups.Memory].Mount, dir, "victim")))
		after, err := h.manager.ReadOOM("1")
		require.NoError(t, err)
		require.Len(t, after, 2)
		assert.Equal(t, podresources.Finite(1), after[0].TreeKills, "the kill of a removed cgroup still counts")
	}
	for i, want := range []int64{0, 0, 1} {
		assert.Equal(t, podresources.Finite(want), counters[i].Kills, "%q", counters[i].Name)
	}
}

// On cgroup v2 memory.oom.group makes the kernel kill all processes of the pod when its limit is reached.
func TestHost_OOMGroup(t *testing.T) {
	h := newTestHost(t)
	if h.c.Controllers[cgroups.Memory].Version != cgroups.V2 {
		t.Skip("the controller memory is not on cgroup v2 here")
	}
	values := podValues()
	values.Memory = podresources.Finite(48 << 20)
	dir, err := h.manager.Ensure("1", values, 1)
	require.NoError(t, err)
	want := []cgroups.Group{{Dir: dir, Values: cgroups.Values{OOMGroup: podresources.Finite(1)}}}
	for _, w := range planFor(t, h.files, h.c, want) {
		require.NoError(t, h.files.WriteFile(w.Path, []byte(w.Content)))
	}
	other := h.startHelper(t, "wait", dir, "other")
	p := h.startHelper(t, "allocate", dir, "victim")
	p.begin()
	require.False(t, p.waitDone())
	assert.False(t, other.waitDone(), "it has not reached its end, as its input is open")
	counters, err := h.manager.ReadOOM("1")
	require.NoError(t, err)
	t.Logf("%+v", counters)
	for _, counter := range counters[1:] {
		n, _ := counter.Kills.Number()
		assert.Positive(t, n, counter.Name) // Linux counts the first process of a group twice.
	}
}

// A process that forks without end hurts its pod alone: the kernel refuses further processes and counts that (OM-10).
func TestHost_OM10_PIDsLimit(t *testing.T) {
	h := newTestHost(t)
	if h.c.Controllers[cgroups.PIDs].Mount == "" {
		t.Skip("no controller pids here")
	}
	values := podValues()
	values.PIDs, values.Memory = podresources.Finite(24), podresources.Unlimited()
	dir, err := h.manager.Ensure("1", values, 1)
	require.NoError(t, err)
	p := h.startHelper(t, "fork", dir, "bomb")
	p.begin()
	p.waitDone() // It may also exit, as its runtime cannot start a thread.
	usage, err := h.manager.ReadUsage("1")
	require.NoError(t, err)
	t.Logf("%+v", usage)
	refused, _ := usage.PIDsRejected.Number()
	assert.Positive(t, refused)
	assert.False(t, usage.PIDs.Exceeds(podresources.Finite(24)))
	p.stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); { // The children end with their input.
		if err = h.manager.Remove(t.Context(), "1"); err == nil {
			return
		}
	}
	assert.NoError(t, err)
}

// On cgroup v1 the kernel refuses a memory limit below the usage, and the old value stays. After the memory is free the
// next Ensure writes it.
func TestHost_MemoryBelowUsage(t *testing.T) {
	h := newTestHost(t)
	if h.c.Controllers[cgroups.Memory].Version != cgroups.V1 {
		t.Skip("the controller memory is not on cgroup v1 here")
	}
	values := podValues()
	values.Memory = podresources.Finite(256 << 20)
	dir, err := h.manager.Ensure("1", values, 1)
	require.NoError(t, err)
	p := h.startHelper(t, "allocate", dir, "container")
	p.begin()
	require.True(t, p.waitDone())
	values.Memory = podresources.Finite(32 << 20)
	_, err = h.manager.Ensure("1", values, 2)
	require.ErrorIs(t, err, cgroups.ErrBusy)
	assert.Equal(t, "268435456", read(t, h.file(cgroups.Memory, dir, "memory.limit_in_bytes", "")))
	p.stop()
	_, err = h.manager.Ensure("1", values, 2)
	require.NoError(t, err)
	h.checkPod(t, dir, values)
}
