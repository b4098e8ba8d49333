//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountChecker opens directories unless they are on another device.
type mountChecker struct{}

// newMountChecker returns a mountChecker that uses the system calls.
func newMountChecker() mountChecker { return mountChecker{} }

// openUnlessMount opens a directory in parent. The error is ErrMount if it is on another device.
func (mountChecker) openUnlessMount(parent *os.File, name string) (*os.File, error) {
	fd := -1
	err := retryOnEINTR(func() (err error) {
		fd, err = unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), name)
	var in, of unix.Stat_t
	if err = unix.Fstat(int(parent.Fd()), &in); err == nil {
		err = unix.Fstat(fd, &of)
	}
	if err == nil && in.Dev != of.Dev {
		err = ErrMount
	}
	if err != nil {
		_ = dir.Close() // Closing a directory that was only read does not fail.
		return nil, err
	}
	return dir, nil
}
