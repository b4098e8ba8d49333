//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
)

// isPrivateDir returns true: on this system a user's directories are private.
func isPrivateDir(fs.FileInfo) bool { return true }

// refusesConnections reports whether the error of a dial means that no process listens.
func refusesConnections(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }
