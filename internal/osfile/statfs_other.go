//go:build !linux && !darwin

package osfile

import "os"

// statfs returns the type and the sizes of the file system that contains a path. It returns false if the system
// call fails, or on a system that does not support it.
func statfs(string) (fileSystem, bool) { return fileSystem{}, false }

// fstatfs returns the type and the sizes of the file system that contains an open file, and false if it cannot.
// It does not call the file's method Fd, which would make the file blocking.
func fstatfs(*os.File) (fileSystem, bool) { return fileSystem{}, false }
