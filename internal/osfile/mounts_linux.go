package osfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mountChecker opens directories unless something is mounted on them. Tests replace its calls to the system.
type mountChecker struct {
	// openat2 opens a directory in parent unless it is in another mount.
	openat2 func(parent int, name string) (int, error)
	// mountIDFromProc returns the ID of the mount that holds an open file.
	mountID func(fd int) (uint64, error)
}

// newMountChecker returns a mountChecker that uses the system calls.
func newMountChecker() mountChecker { return mountChecker{openat2: openat2, mountID: mountIDFromProc} }

// openUnlessMount opens a directory in parent. If the directory is in another mount, it is not opened and the error is
// ErrMount.
func (t mountChecker) openUnlessMount(parent *os.File, name string) (*os.File, error) {
	fd, err := t.openat2(int(parent.Fd()), name)
	switch {
	case errors.Is(err, unix.EXDEV):
		return nil, ErrMount
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		fd, err = t.openComparingMountIDs(int(parent.Fd()), name)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openat2 opens a directory in parent without following symbolic links. It fails with EXDEV if the directory is
// in another mount. It retries while other processes rename or mount.
func openat2(parent int, name string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	const attempts = 100 // The kernel returns EAGAIN while another process renames or mounts.
	for range attempts {
		err = retryOnEINTR(func() error {
			fd, err = unix.Openat2(parent, name, &how)
			return err
		})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}

// openComparingMountIDs opens a directory in parent like openUnlessMount, for a kernel without openat2: it
// returns ErrMount if the mount IDs differ. It first opens the directory with O_PATH, because a normal open
// could trigger an automount.
func (t mountChecker) openComparingMountIDs(parent int, name string) (int, error) {
	place, err := openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	defer unix.Close(place)
	in, err := t.mountID(parent)
	if err != nil {
		return -1, err
	}
	of, err := t.mountID(place)
	if err != nil {
		return -1, err
	}
	if in != of {
		return -1, ErrMount
	}
	return openat(place, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}

// openat opens a file in the directory of the descriptor parent. It retries if a signal interrupts the call.
func openat(parent int, name string, flags int) (fd int, err error) {
	err = retryOnEINTR(func() error {
		fd, err = unix.Openat(parent, name, flags|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// mountIDFromProc returns the mount ID of an open file from /proc/self/fdinfo. The error is ErrMountsUnknown if
// the file there cannot be read or has no mount ID.
func mountIDFromProc(fd int) (uint64, error) {
	const longest = 4096
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, ErrMountsUnknown
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longest))
	if err != nil {
		return 0, ErrMountsUnknown
	}
	return parseMountID(text)
}

// parseMountID returns the number from the line "mnt_id:    42". The error is ErrMountsUnknown if no line has
// such a number.
func parseMountID(fdinfo []byte) (uint64, error) {
	for line := range bytes.Lines(fdinfo) {
		if value, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			if id, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64); err == nil {
				return id, nil
			}
		}
	}
	return 0, ErrMountsUnknown
}
