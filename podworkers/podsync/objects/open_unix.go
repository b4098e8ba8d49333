//go:build unix

package objects

import (
	"os"
	"syscall"
)

const (
	// nonBlocking opens a FIFO without waiting for somebody at its other end.
	nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
	// onlyDirectory fails for whatever is no directory, and does not open it.
	onlyDirectory = syscall.O_DIRECTORY
)

// openRoot opens a directory. What follows the slash is looked up in it, so a path
// that is no directory fails before it is opened.
func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(dir + "/.") }
