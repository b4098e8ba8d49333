//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// teller opens directories and tells mounts from the rest, by their devices.
type teller struct{}

func host() teller { return teller{} }

// open opens a directory in another. One on another device is ErrMount.
func (teller) open(parent *os.File, name string) (*os.File, error) {
	fd := -1
	err := again(func() (err error) {
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
		_ = dir.Close() // It was only read.
		return nil, err
	}
	return dir, nil
}
