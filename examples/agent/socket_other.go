//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
)

// isPrivate reports true: directories of a user are the user's own here.
func isPrivate(fs.FileInfo) bool { return true }

// refusesConnections reports whether an error of a dial means that no process listens.
func refusesConnections(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }
