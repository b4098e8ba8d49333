//go:build !linux && !darwin

package osfile

import "os"

// statfs returns false: this system does not report its file systems.
func statfs(string) (fileSystem, bool) { return fileSystem{}, false }

// fstatfs returns false: this system does not report its file systems.
func fstatfs(*os.File) (fileSystem, bool) { return fileSystem{}, false }
