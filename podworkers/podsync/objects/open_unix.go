//go:build unix

package objects

import "syscall"

const (
	// nonBlocking opens a FIFO without waiting for somebody at its other end.
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	// onlyDirectory fails for whatever is no directory, and does not open it.
	onlyDirectory = syscall.O_DIRECTORY
)
