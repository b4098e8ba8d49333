package osfile

import (
	"os"
	"runtime"
	"slices"
)

// fileSystem describes a mounted file system.
type fileSystem struct {
	magic          int64  // its type; linux/magic.h has the values of Linux
	capacity, free uint64 // in bytes; free is for users other than root
}

const cgroup2Magic = 0x63677270

// kernelMagics are the types of file systems whose files the kernel generates while they are read. A read may wait for
// an event (/proc/kmsg), consume what it reads or never end.
var kernelMagics = [...]int64{
	0x9fa0,     // proc
	0x62656572, // sysfs
	0x64626720, // debugfs
	0x74726163, // tracefs
	0x73636673, // securityfs
}

// Capacity returns the size of the file system at a path and the space that is free for users other than root, both in
// bytes. ok is false if the system does not report them.
func Capacity(path string) (capacity, free uint64, ok bool) {
	fs, ok := statfs(path)
	return fs.capacity, fs.free, ok
}

// CgroupVersion returns 2 if a cgroup v2 hierarchy is mounted at a path, and 1 if another file system is. Runtimes
// treat a host that has both as version 1. If the version is unknown the result is 2, the version of current Linux
// systems.
func CgroupVersion(path string) int {
	if fs, ok := statfs(path); ok && runtime.GOOS == "linux" && fs.magic != cgroup2Magic {
		return 1
	}
	return 2
}

// isKernelFile reports whether the file is in /proc, /sys or another file system whose content the kernel
// generates while it is read. A read of such a file may block. On systems other than Linux it returns false.
func isKernelFile(f *os.File) bool {
	fs, ok := fstatfs(f)
	return ok && runtime.GOOS == "linux" && slices.Contains(kernelMagics[:], fs.magic)
}
