package osfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// teller opens directories and tells mounts from the rest.
type teller struct {
	// openat2 opens a directory in another unless it is in another mount.
	openat2 func(parent int, name string) (int, error)
	// mountID is the mount in which an open file is.
	mountID func(fd int) (uint64, error)
}

// host asks the kernel.
func host() teller { return teller{openat2: openat2, mountID: mountID} }

// open opens a directory in another. One in another mount is ErrMount, and is not
// opened.
func (t teller) open(parent *os.File, name string) (*os.File, error) {
	fd, err := t.openat2(int(parent.Fd()), name)
	switch {
	case errors.Is(err, unix.EXDEV):
		return nil, ErrMount
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		fd, err = t.compare(int(parent.Fd()), name)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat2(parent int, name string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	const attempts = 100 // The kernel cannot always tell while something else is renamed or mounted.
	for range attempts {
		err = again(func() error {
			fd, err = unix.Openat2(parent, name, &how)
			return err
		})
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	return fd, err
}

// compare is open for a kernel without openat2. The place is taken without opening
// what is there, which could mount something by itself.
func (t teller) compare(parent int, name string) (int, error) {
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

func openat(parent int, name string, flags int) (fd int, err error) {
	err = again(func() error {
		fd, err = unix.Openat(parent, name, flags|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

func mountID(fd int) (uint64, error) {
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
	return mountIDIn(text)
}

// mountIDIn finds the line "mnt_id:	42".
func mountIDIn(text []byte) (uint64, error) {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			if id, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64); err == nil {
				return id, nil
			}
		}
	}
	return 0, ErrMountsUnknown
}
