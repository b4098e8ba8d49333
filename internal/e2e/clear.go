//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// removeAll removes the pods, processes, mounts and files of this containerd. It logs errors and does not fail
// the test. For a failed test it first logs the end of containerd's log. If $PODKEEL_E2E_KEEP is set, it moves
// the log of a failed test to that directory.
func (c *Containerd) removeAll() {
	if c.conn != nil {
		c.removePods()
		_ = c.conn.Close()
	}
	c.Stop()
	c.killAndUnmount()
	c.removeCgroups()
	_ = exec.Command("ip", "link", "del", c.bridge).Run() // There is none if no pod had a network.
	if c.t.Failed() {
		c.t.Logf("the end of the log of containerd %s:\n%s", c.Version, c.logTail())
		if keep := os.Getenv("PODKEEL_E2E_KEEP"); keep != "" {
			_ = os.Rename(c.filePath("log"), filepath.Join(keep, filepath.Base(c.Dir)+".log")) // Best effort.
		}
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		c.t.Logf("e2e: %v", err)
	}
}

// removePods removes all pods through the runtime, so that their network devices are removed too. It starts
// containerd if it does not run. It logs errors.
func (c *Containerd) removePods() {
	if !c.process.isRunning() {
		if c.startProcess() != nil || c.waitUntilReady() != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := cri.NewRuntimeServiceClient(c.conn)
	list, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		c.t.Logf("e2e: %v", err)
	}
	for _, s := range list.GetItems() {
		if err := stopAndRemovePod(ctx, client, s.GetId()); err != nil {
			c.t.Logf("e2e: %v", err)
		}
	}
}

// stopAndRemovePod stops and removes a sandbox within 30 seconds, so that a shim that hangs does not delay the other
// sandboxes.
func stopAndRemovePod(ctx context.Context, client cri.RuntimeServiceClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// killAndUnmount kills the processes that this containerd left, and unmounts all mounts below its directory.
func (c *Containerd) killAndUnmount() {
	for range 3 { // a killed process may have children that appear only then
		c.killLeftoverProcesses()
	}
	c.unmountAll()
}

// killLeftoverProcesses kills the shims of this containerd, its network plugins, the processes in its containers, and
// the descendants of all of these. If containerd is killed during a start, it can leave a container that it
// does not know.
func (c *Containerd) killLeftoverProcesses() {
	parents, ours := map[int]int{}, []int{}
	for _, dir := range processDirs() {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parents[pid] = parentPID(dir)
		if slices.Contains(splitProcFileAtNUL(dir, "cmdline"), c.filePath("c.sock")) || c.sandboxOfNetworkPlugin(dir) != "" || c.hasRootInLayers(dir) {
			ours = append(ours, pid)
		}
	}
	for i := 0; i < len(ours); i++ {
		for pid, up := range parents {
			if up == ours[i] && !slices.Contains(ours, pid) {
				ours = append(ours, pid)
			}
		}
	}
	for _, pid := range ours {
		if pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// splitProcFileAtNUL returns the NUL-separated words in the file cmdline or environ of a process. dir is the
// directory of the process below /proc. If the file cannot be read, for example because the process has exited,
// it returns one empty word.
func splitProcFileAtNUL(dir, file string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, file))
	return strings.Split(string(text), "\x00")
}

// hasRootInLayers reports whether the root mount of a process lies in the directory of this containerd. dir is
// the directory of the process below /proc.
func (c *Containerd) hasRootInLayers(dir string) bool {
	mounts, _ := os.ReadFile(dir + "/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if words := strings.Fields(line); len(words) > 4 && words[4] == "/" && strings.Contains(line, c.Dir+"/") {
			return true
		}
	}
	return false
}

// parentPID returns the PID of the parent of a process, or 0 if the process has exited. dir is the directory of
// the process below /proc.
func parentPID(dir string) int {
	text, _ := os.ReadFile(dir + "/stat")
	_, after, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(after)
	if len(words) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(words[1])
	return pid
}

// unmountAll detaches all mounts below the directory of this containerd, the newest first. It ignores errors of
// single mounts.
func (c *Containerd) unmountAll() {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		c.t.Logf("e2e: %v", err)
	}
	lines := strings.Split(string(text), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) > 1 && strings.HasPrefix(words[1], c.Dir+"/") {
			_ = syscall.Unmount(words[1], syscall.MNT_DETACH) // A busy mount disappears with its last user.
		}
	}
}
