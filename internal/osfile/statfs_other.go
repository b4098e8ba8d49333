//go:build !linux && !darwin

package osfile

import "os"

// statfs knows no file system here.
func statfs(string) (fileSystem, bool) { return fileSystem{}, false }

// fstatfs knows no file system here.
func fstatfs(*os.File) (fileSystem, bool) { return fileSystem{}, false }
