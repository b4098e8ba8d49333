//go:build unix

package osfile

import "syscall"

const (
	// nonBlocking opens a FIFO without waiting for the other end, and a terminal without making it the controlling
	// terminal. A regular file may be replaced by one of them just before it is opened.
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	// noFollow makes an open fail for a symbolic link.
	noFollow = syscall.O_NOFOLLOW
)
