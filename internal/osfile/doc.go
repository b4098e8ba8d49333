// Package osfile opens and removes files in directories into which containers, other
// programs or an earlier agent may have put anything. What differs between operating
// systems stands here.
//
// # Opening
//
// Each function says what must be there: a directory, or a regular file. A FIFO, a
// device or a socket in its place is a KindError, at once. It is not opened, as that
// could block for ever or have an effect on the device.
//
//   - OpenDir, OpenSub, OpenDirWithin: a directory to work in. OpenList, OpenListWithin: one to list.
//   - OpenFile: a file in a directory, for reading or writing, never through a link.
//   - OpenPath, OpenPathNoFollow, OpenWithin, OpenInRoot: a file for reading.
//
// A file that the kernel makes while it is read (proc, sysfs, debugfs, tracefs,
// securityfs) looks regular and is refused too: a read of /proc/kmsg waits for the next
// message and consumes it.
//
// # Claiming
//
// Claim takes a directory for one process, so that no second agent works in it.
//
// # File systems
//
// Capacity and CgroupVersion tell of the file system that is mounted at a path.
//
// # Removing
//
// RemoveAll removes a tree and never crosses a mount: what is mounted anywhere in the
// tree, also while the removal is under way, keeps all its files. At the first mount
// RemoveAll stops with ErrMount. A device number (st_dev) does not tell this: a bind
// mount of the same file system has the same one.
//
//   - On Linux each directory is opened by openat2 with RESOLVE_NO_XDEV, so that the
//     kernel refuses at the moment of the opening. Where openat2 is missing or not
//     permitted (before Linux 5.6, or by a seccomp profile) the mount IDs in
//     /proc/self/fdinfo are compared before a directory is read. Where these are
//     missing too nothing is removed, and the error is ErrMountsUnknown.
//   - On macOS and the BSDs the device numbers are compared. These systems have no bind
//     mounts within one file system (nullfs has a device number of its own).
//   - On Windows and other systems the standard library removes, which does not follow
//     links and junctions.
//
// A tree of any depth is removed with a bounded number of open files: what lies too
// deep is moved to the top of the tree first. A removal that was cut short at any
// point can be repeated.
//
// # Discarding
//
// Discard moves a tree out of the way by one rename, so that a new one may take its
// name while the old one is removed, which may take long:
//
//	<dir>/<name>                      the tree
//	<dir>/.trash/<owner>~<random>     discarded, to be removed
//
// Trash lists what was discarded and is still there, that of former processes too.
// The directory .trash is there only while it has entries. On a full file system there may be
// no room to make it: then Discard fails with an error for which IsFull is true.
//
// All functions may be called concurrently, also for the same names.
package osfile
