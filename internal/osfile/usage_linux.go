package osfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxOpenDirectories limits the open directories of a walk. The parents of deeper directories are opened again
	// through "..".
	maxOpenDirectories = 32
	// maxTreeDepth limits the depth of a tree. Each level needs 32 bytes.
	maxTreeDepth = 1 << 20
	// maxLinkedFiles limits how many files with several hard links a walk remembers.
	maxLinkedFiles = 250_000
	// directoryBufferBytes is how many bytes of directory entries are read at once. After each subdirectory the rest
	// of them is read again.
	directoryBufferBytes = 4096

	directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// Faults of UsageWalk.Measure after which the result is a lower bound.
var (
	errTooDeep      = errors.New("osfile: a directory tree is too deep to measure it completely")
	errTooManyLinks = errors.New("osfile: a directory tree has too many files with several hard links to measure it exactly")
	errMoved        = errors.New("osfile: a directory was moved while its tree was measured")
)

// Measure returns the bytes and inodes that root and all files below it occupy. It follows no symbolic link and leaves
// out other file systems. A root that does not exist occupies nothing. It leaves out files that disappear during the
// walk. It opens each directory relative to its parent, so the length of a path is no limit. Its memory depends on the
// depth of the tree and on the number of files with several hard links, and not on the number of files.
//
// After an error the result is a lower bound: of everything that Measure could read, or of everything until ctx has
// ended. If there are more than maxLinkedFiles files with several hard links, only a share of each further one counts.
func (w *UsageWalk) Measure(ctx context.Context, root string) (Usage, error) {
	t := treeUsage{walk: w}
	err := t.measureTree(ctx, root)
	if err == nil {
		err = t.fault
	}
	if err != nil {
		err = fmt.Errorf("osfile: measure %s: %w", root, err)
	}
	return t.usage, err
}

// treeUsage is the measurement of one tree.
type treeUsage struct {
	walk    *UsageWalk
	usage   Usage
	fault   error // the first error that did not end the measurement
	parents []openDirectory
}

// openDirectory is a directory that is being read.
type openDirectory struct {
	fd     int // -1: not open
	id     fileID
	offset int64 // where to go on after its current subdirectory
}

// measureTree counts the tree. It closes all directories before it returns.
func (t *treeUsage) measureTree(ctx context.Context, root string) error {
	current, err := t.openRoot(root)
	if err != nil || current.fd < 0 {
		return err
	}
	defer func() {
		closeDirectory(current.fd)
		for _, p := range t.parents {
			closeDirectory(p.fd)
		}
	}()
	device := current.id.device
	buffer := make([]byte, directoryBufferBytes)
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := unix.ReadDirent(current.fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		t.recordFault(err)
		switch child, ok := t.countEntries(&current, buffer[:max(n, 0)], device); {
		case ok:
			t.pushParent(current)
			current = child
		case n > 0:
		case len(t.parents) == 0:
			return nil
		default:
			if current, err = t.popParent(current); err != nil {
				return err
			}
		}
	}
}

// openRoot opens the root of the tree and counts it. The result has no directory if the root does not exist, or is no
// directory.
func (t *treeUsage) openRoot(root string) (openDirectory, error) {
	var stat unix.Stat_t
	fd, err := unix.Open(root, directoryFlags, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return openDirectory{fd: -1}, nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		if err = unix.Lstat(root, &stat); err == nil {
			t.countFile(&stat)
		}
		return openDirectory{fd: -1}, err
	case err != nil:
		return openDirectory{fd: -1}, err
	}
	if err := unix.Fstat(fd, &stat); err != nil {
		closeDirectory(fd)
		return openDirectory{fd: -1}, err
	}
	t.countFile(&stat)
	return openDirectory{fd: fd, id: idOf(&stat)}, nil
}

// countEntries counts the files of raw directory entries, up to and including the first subdirectory that it can open.
// It returns that subdirectory, and sets the offset of its parent behind it. It leaves out files of other devices.
func (t *treeUsage) countEntries(parent *openDirectory, entries []byte, device uint64) (child openDirectory, ok bool) {
	const header = int(unsafe.Offsetof(unix.Dirent{}.Name))
	for len(entries) > header {
		length := int(binary.NativeEndian.Uint16(entries[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
		if length <= header || length > len(entries) {
			t.recordFault(unix.EIO)
			return openDirectory{}, false
		}
		offset := int64(binary.NativeEndian.Uint64(entries[unsafe.Offsetof(unix.Dirent{}.Off):]))
		name := unix.ByteSliceToString(entries[header:length])
		entries = entries[length:]
		if name == "." || name == ".." {
			continue
		}
		var stat unix.Stat_t
		if err := unix.Fstatat(parent.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			t.recordFault(err)
			continue
		}
		if uint64(stat.Dev) != device {
			continue
		}
		t.countFile(&stat)
		if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		if child, ok = t.openChild(parent.fd, name, device); ok {
			parent.offset = offset
			return child, true
		}
	}
	return openDirectory{}, false
}

// openChild opens a subdirectory. ok is false if it is gone, is on another device, cannot be opened, or is too deep.
func (t *treeUsage) openChild(parent int, name string, device uint64) (_ openDirectory, ok bool) {
	if len(t.parents) >= maxTreeDepth {
		t.recordFault(errTooDeep)
		return openDirectory{}, false
	}
	fd, err := unix.Openat(parent, name, directoryFlags, 0)
	if err != nil {
		t.recordFault(err)
		return openDirectory{}, false
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || uint64(stat.Dev) != device {
		t.recordFault(err)
		closeDirectory(fd)
		return openDirectory{}, false
	}
	return openDirectory{fd: fd, id: idOf(&stat)}, true
}

// pushParent stores a directory while its subdirectory is read. It closes the directory if enough others are open.
func (t *treeUsage) pushParent(parent openDirectory) {
	if len(t.parents) >= maxOpenDirectories {
		closeDirectory(parent.fd)
		parent.fd = -1
	}
	t.parents = append(t.parents, parent)
}

// popParent closes a directory that was read, and returns its parent at the entry behind it. It opens a parent that was
// closed through "..", and returns errMoved if that is another directory: then child or a directory above it was moved.
// The result is then child, still open.
func (t *treeUsage) popParent(child openDirectory) (openDirectory, error) {
	parent := t.parents[len(t.parents)-1]
	if parent.fd < 0 {
		fd, err := unix.Openat(child.fd, "..", directoryFlags, 0)
		if err != nil {
			return child, fmt.Errorf("open the parent of a directory: %w", err)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || idOf(&stat) != parent.id {
			closeDirectory(fd)
			return child, errors.Join(errMoved, err)
		}
		parent.fd = fd
	}
	t.parents = t.parents[:len(t.parents)-1]
	closeDirectory(child.fd)
	if _, err := unix.Seek(parent.fd, parent.offset, unix.SEEK_SET); err != nil {
		return parent, fmt.Errorf("go on in a directory: %w", err)
	}
	return parent, nil
}

// countFile adds a file. It ignores a file with several hard links that was counted before. If the walk remembers too many
// such files, it adds a share of the bytes. The shares of all links together are at most the bytes of the file.
func (t *treeUsage) countFile(stat *unix.Stat_t) {
	bytes := uint64(max(stat.Blocks, 0)) * 512
	if links := uint64(stat.Nlink); links > 1 && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		id := idOf(stat)
		if _, counted := t.walk.links[id]; counted {
			return
		}
		if len(t.walk.links) >= maxLinkedFiles {
			t.usage.Bytes += bytes / links
			t.recordFault(errTooManyLinks)
			return
		}
		if t.walk.links == nil {
			t.walk.links = map[fileID]struct{}{}
		}
		t.walk.links[id] = struct{}{}
	}
	t.usage.Bytes, t.usage.Inodes = t.usage.Bytes+bytes, t.usage.Inodes+1
}

// recordFault stores the first error. It ignores nil, and files that have disappeared or were replaced.
func (t *treeUsage) recordFault(err error) {
	gone := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
	if err != nil && !gone && t.fault == nil {
		t.fault = err
	}
}

// idOf returns the identity of a file.
func idOf(stat *unix.Stat_t) fileID { return fileID{uint64(stat.Dev), stat.Ino} }

// closeDirectory closes a directory that is open.
func closeDirectory(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
