//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package osfile

import "os"

// LockDir opens the directory. This system cannot lock it.
func LockDir(dir string) (*os.File, error) { return os.Open(dir) }
