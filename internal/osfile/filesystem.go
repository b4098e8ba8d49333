package osfile

import (
	"os"
	"runtime"
	"slices"
)

// fileSystem is what the operating system says of a mounted file system.
type fileSystem struct {
	magic          int64  // its type; see linux/magic.h for those of Linux
	capacity, free uint64 // in bytes; free is for users other than root
}

const cgroup2Magic = 0x63677270

// kernelMagics are the file systems whose files are made by the kernel while they are
// read: a read may wait for an event (/proc/kmsg), consume what it reads or never end.
var kernelMagics = [...]int64{
	0x9fa0,     // proc
	0x62656572, // sysfs
	0x64626720, // debugfs
	0x74726163, // tracefs
	0x73636673, // securityfs
}

// Capacity returns the size of the file system at a path and the part that is free
// for users other than root, both in bytes. It is false where the system does not tell.
func Capacity(path string) (capacity, free uint64, ok bool) {
	fs, ok := statfs(path)
	return fs.capacity, fs.free, ok
}

// CgroupVersion returns 2 if a cgroup v2 hierarchy is mounted at a path, and 1 if
// another file system is: runtimes treat a host that has both as one of version 1.
// Where it is unknown it is 2, the version of current Linux systems.
func CgroupVersion(path string) int {
	if fs, ok := statfs(path); ok && runtime.GOOS == "linux" && fs.magic != cgroup2Magic {
		return 1
	}
	return 2
}

// isKernelFile reports whether the kernel makes the file while it is read.
func isKernelFile(f *os.File) bool {
	fs, ok := fstatfs(f)
	return ok && runtime.GOOS == "linux" && slices.Contains(kernelMagics[:], fs.magic)
}
