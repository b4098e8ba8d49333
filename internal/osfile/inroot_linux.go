package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openRegularFollowingLinksInRoot opens a regular file for reading. It follows symbolic links, also absolute
// ones, as if dir were the root directory. The error is errors.ErrUnsupported if the kernel has no openat2 or
// does not permit it, or on a system other than Linux.
func openRegularFollowingLinksInRoot(dir *os.Root, path string) (*os.File, error) {
	root, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	fd, err := openPathInRoot(int(root.Fd()), path)
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("openat2: %w", errors.ErrUnsupported)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	opened := os.NewFile(uintptr(fd), path)
	defer opened.Close()
	seen, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, &KindError{ErrNotRegular, Kind(seen.Mode())}
	}
	// The descriptor identifies the file, so that a concurrent rename cannot replace it.
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Unwrap(err)}
	}
	return verifyRegularOrClose(f, seen)
}

// openPathInRoot resolves a path as if root were the root directory, and returns an O_PATH descriptor, which
// cannot read the file. It follows symbolic links inside root. It retries while other processes rename or
// mount.
func openPathInRoot(root int, path string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	const attempts = 100 // The kernel returns EAGAIN while another process renames or mounts.
	for range attempts {
		err = retryOnEINTR(func() error {
			fd, err = unix.Openat2(root, path, &how)
			return err
		})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}
