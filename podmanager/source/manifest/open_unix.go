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

// openDir opens a directory, and nothing else: a device that took its place is not
// opened.
func openDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}
