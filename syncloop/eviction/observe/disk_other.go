//go:build !linux

package observe

import (
	"errors"
	"os"
)

// readDisk returns the usage of the file system that contains a directory.
func readDisk(string) (disk, error) {
	return disk{}, errors.New("observe: file systems can be measured on Linux only")
}

// fileIdentityAndSize returns zeros: only Linux is supported.
func fileIdentityAndSize(os.FileInfo) (device, inode, bytes uint64) { return 0, 0, 0 }
