// Package osfile opens and removes files in directories where containers, other programs or an earlier agent may have
// put files of any kind. It holds the differences between operating systems.
//
// # Opening
//
// Each function requires a directory or a regular file. For a FIFO, a device or a socket in its place the function
// returns a KindError at once. It does not open that file, because opening could block for ever or affect the device.
//
//   - OpenDir, OpenSubdir, OpenDirWithin: a directory to work in. OpenList, OpenListWithin: one to list.
//   - OpenFile: a file in a directory, for reading or writing, never through a link.
//   - OpenPath, OpenPathNoFollow, OpenWithin, OpenInRoot: a file for reading.
//
// A file whose content the kernel generates while it is read (proc, sysfs, debugfs, tracefs, securityfs) appears to be
// regular and is rejected too. A read of /proc/kmsg, for example, waits for the next message and consumes it.
//
// # Locking
//
// LockDir locks a directory for one process, so that a second agent cannot work in it.
//
// # File systems
//
// Capacity and CgroupVersion describe the file system that is mounted at a path. UsageWalk measures directory trees as du
// does, at any depth and with bounded memory.
//
// # Writing
//
// ReplaceFile and EnsureFile write a file that a power failure leaves old or new, and never in part. MkdirAll
// makes directories that a power failure does not lose. EnsureFile and MkdirAll also sync what an interrupted call has made.
//
// # Removing
//
// RemoveAll removes a tree and never crosses a mount. A file system that is mounted anywhere in the tree keeps all its
// files, even if it is mounted during the removal. At the first mount RemoveAll stops with ErrMount. The device number
// (st_dev) does not show every mount: a bind mount of the same file system has the same number.
//
//   - On Linux RemoveAll opens each directory by openat2 with RESOLVE_NO_XDEV, so that the
//     kernel refuses to cross a mount. Where openat2 is missing or not permitted (before
//     Linux 5.6, or by a seccomp profile) RemoveAll compares the mount IDs in
//     /proc/self/fdinfo before it reads a directory. Where these are missing too it
//     removes nothing and returns ErrMountsUnknown.
//   - On macOS and the BSDs it compares the device numbers. These systems have no bind
//     mounts within one file system (nullfs has a device number of its own).
//   - On Windows and other systems the standard library removes the tree. It does not
//     follow links and junctions.
//
// A tree of any depth is removed with a bounded number of open files: directories that are too deep are first moved to
// the top of the tree. A removal that was interrupted at any point can be repeated.
//
// # Discarding
//
// Discard moves a tree to the trash by one rename. A new tree can then use its name while the old one is removed, which
// may take long:
//
//	<dir>/<name>                      the tree
//	<dir>/.trash/<owner>~<random>     discarded, to be removed
//
// ListTrash lists the entries in the trash, also of earlier processes. The directory .trash exists only
// while it has entries. On a full file system Discard may fail because it cannot create that directory. IsDiskFull
// returns true for that error.
//
// All functions may be called concurrently, also for the same names.
package osfile
