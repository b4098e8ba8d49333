//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// processDirs returns the paths of the directories of all processes below /proc.
func processDirs() (dirs []string) {
	entries, _ := os.ReadDir("/proc") // Without it no process is found, and the test fails of that.
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			dirs = append(dirs, filepath.Join("/proc", e.Name()))
		}
	}
	return dirs
}

// Joining returns the IDs of the sandboxes for which a plugin is setting up a network. Plugins outlive a containerd
// that is killed, and no process waits for their exit then.
func (c *Containerd) Joining() (ids []string) {
	for _, dir := range processDirs() {
		if id := c.sandboxOfNetworkPlugin(dir); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// sandboxOfNetworkPlugin returns the ID of the sandbox that a process adds to a network of this containerd. It
// returns "" if the process is no such network plugin. dir is the directory of the process below /proc.
func (c *Containerd) sandboxOfNetworkPlugin(dir string) (id string) {
	env := map[string]string{}
	for _, word := range splitProcFileAtNUL(dir, "environ") {
		if name, value, _ := strings.Cut(word, "="); strings.HasPrefix(name, "CNI_") {
			env[name] = value
		}
	}
	if env["CNI_COMMAND"] != "ADD" || !strings.HasPrefix(env["CNI_NETNS"], c.Dir+"/") {
		return ""
	}
	return env["CNI_CONTAINERID"]
}

// SignalShim sends a signal to the shim of a sandbox, and reports whether the shim exists.
func (c *Containerd) SignalShim(sandbox string, signal syscall.Signal) (found bool) {
	for _, dir := range processDirs() {
		said := splitProcFileAtNUL(dir, "cmdline")
		if slices.Contains(said, c.filePath("c.sock")) && slices.Contains(said, sandbox) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			found = syscall.Kill(pid, signal) == nil || found
		}
	}
	return found
}
