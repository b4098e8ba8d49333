package cgroups

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
)

// Read returns the part of the cgroup hierarchies that Plan compares with the wanted groups. It reads only files that
// Plan could write. A missing directory or file is left out. Any other error ends the read.
func Read(files Files, c Capabilities, want []Group) (Snapshot, error) {
	s := Snapshot{Dirs: map[string]bool{}, Files: map[string]string{}}
	if c.State != Ready {
		return s, nil
	}
	if c.sizesOnV2() {
		if err := s.addFile(files, path.Join(c.Unified, subtreeControl)); err != nil {
			return Snapshot{}, err
		}
	}
	for _, group := range want {
		for _, mount := range c.sizedMounts() {
			dir := path.Join(mount, group.Dir)
			switch _, err := files.ReadDir(dir); {
			case err == nil:
				s.Dirs[dir] = true
			case !isGone(err):
				return Snapshot{}, err
			}
		}
		for _, name := range c.filesOf(group) {
			if s.Dirs[path.Dir(name)] {
				if err := s.addFile(files, name); err != nil {
					return Snapshot{}, err
				}
			}
		}
	}
	return s, nil
}

// addFile adds the content of a file. A missing file is left out.
func (s *Snapshot) addFile(files Files, name string) error {
	content, err := files.ReadFile(name)
	switch {
	case err == nil:
		s.Files[name] = string(content)
	case !isGone(err):
		return err
	}
	return nil
}

// isGone reports whether an error means that a file or directory does not exist. The kernel returns ENODEV for a file
// that was opened before its cgroup was removed.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// filesOf returns the files that Plan could write for a group.
func (c Capabilities) filesOf(group Group) []string {
	var names []string
	add := func(isWanted bool, controller Controller, nameOnV1, nameOnV2 string) {
		if name := c.filePath(controller, group.Dir, nameOnV1, nameOnV2); isWanted && name != "" {
			names = append(names, name)
		}
	}
	v := group.Values
	add(v.CPUShares.IsSet(), CPU, "cpu.shares", "cpu.weight")
	add(v.CPUQuota.IsSet(), CPU, "cpu.cfs_quota_us", "cpu.max")
	add(v.CPUQuota.IsSet(), CPU, "cpu.cfs_period_us", "")
	add(v.Memory.IsSet(), Memory, "memory.limit_in_bytes", "memory.max")
	add(c.Swap && (v.Memory.IsSet() || v.MemorySwap.IsSet()), Memory, "memory.memsw.limit_in_bytes", "")
	add(c.Swap && v.MemorySwap.IsSet(), Memory, "", "memory.swap.max")
	add(v.MemoryHigh.IsSet(), Memory, "", "memory.high")
	add(v.OOMGroup.IsSet(), Memory, "", "memory.oom.group")
	add(v.PIDs.IsSet(), PIDs, "pids.max", "pids.max")
	if c.sizesOnV2() {
		names = append(names, path.Join(c.Unified, group.Dir, subtreeControl))
	}
	return names
}
