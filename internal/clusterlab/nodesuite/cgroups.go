package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// podCgroups returns the cgroups that a run may have made on this machine: the cgroups of a kubelet, and the root cgroup
// of the agent with the state directory stateDir.
func podCgroups(stateDir string) (dirs []string) {
	names := []string{"kubepods", "kubelet.slice"}
	if owner, err := os.ReadFile(filepath.Join(stateDir, "owner")); err == nil {
		names = append(names, "podkeel-"+strings.TrimSpace(string(owner)))
	}
	for _, name := range names {
		for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
			found, _ := filepath.Glob(filepath.Join(parent, name)) // The patterns are valid.
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

// removeCgroups removes the cgroups of a run that did not exist before it. All processes of the run have exited. A cgroup
// that cannot be removed stays.
func removeCgroups(before []string, stateDir string) {
	for _, root := range podCgroups(stateDir) {
		if slices.Contains(before, root) {
			continue
		}
		var dirs []string
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			_ = os.Remove(dir)
		}
	}
}
