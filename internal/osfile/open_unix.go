//go:build unix

package osfile

import "syscall"

const (
	// nonBlocking opens a FIFO without waiting for its other end, should a file become
	// one at the last moment, and a terminal without making it ours.
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	// noFollow fails for a symbolic link.
	noFollow = syscall.O_NOFOLLOW
)
