//go:build !linux

package observe

import "errors"

// readDisk returns the usage of the file system that contains a directory.
func readDisk(string) (disk, error) {
	return disk{}, errors.New("observe: file systems can be measured on Linux only")
}
