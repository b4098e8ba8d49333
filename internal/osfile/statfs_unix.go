//go:build linux || darwin

package osfile

import (
	"os"
	"syscall"
)

// statfs describes the file system that contains a path.
func statfs(path string) (fileSystem, bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return fileSystem{}, false
	}
	return fileSystemFrom(&fs), true
}

// fstatfs describes the file system that contains an open file. It does not call the file's method Fd, which would make
// the file blocking.
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

// fileSystemFrom converts the result of a system call.
func fileSystemFrom(fs *syscall.Statfs_t) fileSystem {
	size := uint64(fs.Bsize)
	return fileSystem{magic: int64(fs.Type), capacity: fs.Blocks * size, free: fs.Bavail * size}
}
