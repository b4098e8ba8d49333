//go:build unix

package logfiles

import "syscall"

// readOnly opens a file without waiting for whoever writes to it, should it have
// become a pipe.
const readOnly = syscall.O_RDONLY | syscall.O_NONBLOCK
