//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package osfile

import (
	"errors"
	"os"
	"syscall"
)

// LockDir takes a directory until the file is closed, or this process has ended in any way.
// ErrClaimed: another process has it. A file system that cannot lock claims nothing.
func LockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = f.Close() // It was only read.
		return nil, ErrLocked
	}
	return f, nil
}
