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
// the test.
func (c *Containerd) removeAll() {
	if c.conn != nil {
		c.removePods()
		_ = c.conn.Close()
	}
	c.Stop()
	c.killAndUnmount()
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

// removePods removes all pods through the runtime, so that their network devices are removed too.
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
		if err := removePod(ctx, client, s.GetId()); err != nil {
			c.t.Logf("e2e: %v", err)
		}
	}
}

// removePod stops and removes a sandbox. A shim that hangs does not delay other sandboxes.
func removePod(ctx context.Context, client cri.RuntimeServiceClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// killAndUnmount kills the processes that are left and unmounts their mounts.
func (c *Containerd) killAndUnmount() {
	for range 3 { // a killed process may have children that appear only then
		c.killLeftovers()
	}
	c.unmountAll()
}

// killLeftovers kills shims of this containerd and their descendants, network plugins that have outlived
// containerd, and containers that have outlived their shim. If containerd is killed during a start, it can
// leave a container that it does not know.
func (c *Containerd) killLeftovers() {
	parents, ours := map[int]int{}, []int{}
	for _, dir := range processDirs() {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parents[pid] = parentPID(dir)
		if slices.Contains(readProcessList(dir, "cmdline"), c.filePath("c.sock")) || c.sandboxOfNetworkPlugin(dir) != "" || c.hasRootInLayers(dir) {
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

// readProcessList returns the arguments or the environment of a process. dir is its directory below /proc. The
// result is empty if the process has exited.
func readProcessList(dir, list string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, list))
	return strings.Split(string(text), "\x00")
}

// hasRootInLayers reports whether the root directory of a process is a layer of this containerd. dir is the
// directory of the process below /proc.
func (c *Containerd) hasRootInLayers(dir string) bool {
	mounts, _ := os.ReadFile(dir + "/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if words := strings.Fields(line); len(words) > 4 && words[4] == "/" && strings.Contains(line, c.Dir+"/") {
			return true
		}
	}
	return false
}

// parentPID returns the PID of the parent of a process. dir is the directory of the process below /proc.
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

// unmountAll unmounts all mounts below the directory, the newest first.
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
