package osfile

import "golang.org/x/sys/unix"

// FullUsageWalk returns a walk that remembers no more files with several hard links.
func FullUsageWalk() *UsageWalk {
	w := &UsageWalk{links: map[fileID]struct{}{}}
	for i := range uint64(maxLinkedFiles) {
		w.links[fileID{inode: i}] = struct{}{}
	}
	return w
}

// RenameAt moves the entry name of an open directory to the path to.
func RenameAt(dir int, name, to string) error { return unix.Renameat(dir, name, unix.AT_FDCWD, to) }
