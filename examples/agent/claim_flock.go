//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"errors"
	"os"
	"syscall"
)

// claim takes a directory until it is closed, or this process has ended in any
// way. Where there is nothing to claim with, it is not claimed.
func claim(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = f.Close() // It was only read.
		return nil, errClaimed
	}
	return f, nil
}
