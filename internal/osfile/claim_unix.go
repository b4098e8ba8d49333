//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package osfile

import (
	"errors"
	"os"
	"syscall"
)

// LockDir locks a directory until the file is closed or the process exits. The error is ErrLocked if another process
// has locked it. On a file system without locks LockDir only opens the directory.
func LockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = f.Close() // Closing a directory that was only read does not fail.
		return nil, ErrLocked
	}
	return f, nil
}
