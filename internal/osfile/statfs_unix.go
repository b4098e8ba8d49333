//go:build linux || darwin

package osfile

import (
	"os"
	"syscall"
)

// statfs describes the file system that holds a path.
func statfs(path string) (fileSystem, bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return fileSystem{}, false
	}
	return described(&fs), true
}

// fstatfs describes the file system that holds an open file. The file stays as it is:
// its method Fd would make it blocking.
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
	return described(&fs), true
}

func described(fs *syscall.Statfs_t) fileSystem {
	size := uint64(fs.Bsize)
	return fileSystem{magic: int64(fs.Type), capacity: fs.Blocks * size, free: fs.Bavail * size}
}
