//go:build unix

package osfile

import "syscall"

// nonBlocking opens a FIFO without waiting for its other end, should a file become
// one at the last moment.
const nonBlocking = syscall.O_NONBLOCK
