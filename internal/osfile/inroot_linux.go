package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openInRoot resolves a path with a directory as its root, and opens the place only if a
// regular file is there. errors.ErrUnsupported: the kernel cannot do so.
func openInRoot(dir *os.Root, path string) (*os.File, error) {
	root, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	fd, err := placeInRoot(int(root.Fd()), path)
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("openat2: %w", errors.ErrUnsupported)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	place := os.NewFile(uintptr(fd), path)
	defer place.Close()
	seen, err := place.Stat()
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, &KindError{ErrNotRegular, Kind(seen.Mode())}
	}
	// By its number: a process that renames things cannot put another file in its place.
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Unwrap(err)}
	}
	return regular(f, seen)
}

// placeInRoot returns a descriptor of a place, and opens no file there.
func placeInRoot(root int, path string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	const attempts = 100 // The kernel cannot always tell while something else is renamed or mounted.
	for range attempts {
		err = again(func() error {
			fd, err = unix.Openat2(root, path, &how)
			return err
		})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}
