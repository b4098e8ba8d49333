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

// clear takes everything away. Whatever goes wrong with that is logged; it does
// not fail a test that has passed.
func (c *Containerd) clear() {
	if c.conn != nil {
		c.removePods()
		_ = c.conn.Close()
	}
	c.Stop()
	c.sweep()
	_ = exec.Command("ip", "link", "del", c.bridge).Run() // There is none if no pod had a network.
	if c.t.Failed() {
		c.t.Logf("the end of the log of containerd %s:\n%s", c.Version, c.tail())
		if keep := os.Getenv("PODKEEL_E2E_KEEP"); keep != "" {
			_ = os.Rename(c.path("log"), filepath.Join(keep, filepath.Base(c.Dir)+".log")) // Best effort.
		}
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		c.t.Logf("e2e: %v", err)
	}
}

// removePods has the runtime take its pods away, so that the network does too.
func (c *Containerd) removePods() {
	if !c.process.runs() {
		if c.launch() != nil || c.ready() != nil {
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

// removePod takes one away. A shim that hangs does not hold up the others.
func removePod(ctx context.Context, client cri.RuntimeServiceClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// sweep kills what is left and unmounts what it had.
func (c *Containerd) sweep() {
	for range 3 { // the children of what is killed may come to light only then
		c.killLeftovers()
	}
	c.unmount()
}

// killLeftovers kills shims of ours and all that descends from them, plugins of
// networks that have outlived containerd, and what has outlived its shim: where
// containerd is killed amid a start, it can leave a container that nobody knows of.
func (c *Containerd) killLeftovers() {
	parents, ours := map[int]int{}, []int{}
	for _, dir := range processDirs() {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parents[pid] = parent(dir)
		if slices.Contains(words(dir, "cmdline"), c.path("c.sock")) || c.joins(dir) != "" || c.isRootOf(dir) {
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

// words are those that a process was started with, by its directory and the name of
// a list. Gone is as good as none.
func words(dir, list string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, list))
	return strings.Split(string(text), "\x00")
}

// isRootOf reports whether a process, by its directory, has its root on a layer of
// ours.
func (c *Containerd) isRootOf(dir string) bool {
	mounts, _ := os.ReadFile(dir + "/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if words := strings.Fields(line); len(words) > 4 && words[4] == "/" && strings.Contains(line, c.Dir+"/") {
			return true
		}
	}
	return false
}

// parent is the parent of a process, by its directory: the second word after
// the name, which stands in brackets.
func parent(dir string) int {
	text, _ := os.ReadFile(dir + "/stat")
	_, after, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(after)
	if len(words) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(words[1])
	return pid
}

// unmount unmounts what is mounted beneath the directory, the latest first.
func (c *Containerd) unmount() {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		c.t.Logf("e2e: %v", err)
	}
	lines := strings.Split(string(text), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) > 1 && strings.HasPrefix(words[1], c.Dir+"/") {
			_ = syscall.Unmount(words[1], syscall.MNT_DETACH) // What is busy goes with its last user.
		}
	}
}
