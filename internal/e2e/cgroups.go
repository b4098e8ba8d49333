//go:build linux

package e2e

import (
	"context"
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

// removeCgroups removes the cgroups of all agents whose state directories are in the directory of this containerd.
func (c *Containerd) removeCgroups() {
	for _, pattern := range [...]string{"*/owner", "*/state/owner"} {
		files, _ := filepath.Glob(filepath.Join(c.Dir, pattern)) // The patterns are valid.
		for _, file := range files {
			if err := removeCgroupsOfOwner(filepath.Dir(file)); err != nil {
				c.t.Logf("e2e: %v", err)
			}
		}
	}
}
