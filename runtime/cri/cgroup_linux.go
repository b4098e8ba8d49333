package cri

import "syscall"

// cgroup2Magic is the type of a cgroup v2 file system, from linux/magic.h.
const cgroup2Magic = 0x63677270

// cgroupVersion is 2 if a cgroup v2 hierarchy is mounted at root, and 1 if something
// else is: runtimes treat a host that has both as one of version 1.
func cgroupVersion(root string) int {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err == nil && fs.Type != cgroup2Magic {
		return 1
	}
	return 2
}
