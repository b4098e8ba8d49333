//go:build !linux && !darwin

package osfile

import "os"

// statfs is not supported on this system.
func statfs(string) (fileSystem, bool) { return fileSystem{}, false }

// fstatfs is not supported on this system.
func fstatfs(*os.File) (fileSystem, bool) { return fileSystem{}, false }
