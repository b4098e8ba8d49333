//go:build linux || darwin

package osfile

import (
	"os"
	"syscall"
)

// statfs returns the type and the sizes of the file system that contains a path. It returns false if the system
// call fails, or on a system that does not support it.
func statfs(path string) (fileSystem, bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return fileSystem{}, false
	}
	return fileSystemFrom(&fs), true
}

// fstatfs returns the type and the sizes of the file system that contains an open file, and false if it cannot.
// It does not call the file's method Fd, which would make the file blocking.
func fstatfs(f *os.File) (fileSystem, bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return fileSystem{}, false
	}
	var fs syscall.Statfs_t
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Fstatfs(int(fd), &fs) })
	if err != nil || failed != nil {
		return fileSystem{}, false
	}
	return fileSystemFrom(&fs), true
}

// fileSystemFrom converts the result of statfs to the type, and the capacity and the available space in bytes.
func fileSystemFrom(fs *syscall.Statfs_t) fileSystem {
	size := uint64(fs.Bsize)
	return fileSystem{magic: int64(fs.Type), capacity: fs.Blocks * size, free: fs.Bavail * size}
}
