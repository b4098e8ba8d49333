//go:build unix

package manifest

import (
	"os"
	"syscall"
)

// openFile opens without waiting, should the file have become a pipe, and
// without making a terminal our own.
func openFile(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
