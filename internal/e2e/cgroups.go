//go:build linux

package e2e

import (
	"context"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cri"
)

// removeCgroupsOfOwner removes the cgroups of all pods of the owner, and then their root.
func removeCgroupsOfOwner(stateDir string) error {
	owner, err := cri.OwnerFile(stateDir)
	if err != nil {
		return err
	}
	root, err := cgroups.RootForOwner(owner)
	if err != nil {
		return err
	}
	manager, err := cgroups.New(cgroups.Config{Root: root, Capabilities: cgroups.Probe(cgroups.NewHostFiles("/"), root)})
	if err != nil {
		return err
	}
	uids, err := manager.List()
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := manager.Remove(context.Background(), uid); err != nil {
			return err
		}
	}
	return manager.RemoveRoot()
}

// removeCgroups removes the cgroups of all agents whose state directories are directly in the directory of this
// containerd, or are the directory state in such a directory. It logs errors.
func (c *Containerd) removeCgroups() {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		c.t.Logf("e2e: %v", err)
	}
	for _, entry := range entries {
		for _, dir := range [...]string{filepath.Join(c.Dir, entry.Name()), filepath.Join(c.Dir, entry.Name(), "state")} {
			if _, err := os.Stat(filepath.Join(dir, "owner")); err != nil {
				continue // It is no state directory.
			}
			if err := removeCgroupsOfOwner(dir); err != nil {
				c.t.Logf("e2e: %v", err)
			}
		}
	}
}
