//go:build linux || darwin

package cri

import "syscall"

// room is the size of the file system at a path, and what is left of it for
// those who are not root.
func room(path string) (capacity, free uint64, ok bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return 0, 0, false
	}
	size := uint64(fs.Bsize)
	return fs.Blocks * size, fs.Bavail * size, true
}
