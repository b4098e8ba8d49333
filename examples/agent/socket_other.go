//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
)

// isWritableOnlyByUserOrRoot returns true: on this system other users cannot write to a directory of a user.
func isWritableOnlyByUserOrRoot(fs.FileInfo) bool { return true }

// refusesConnections reports whether the error of a dial means that no process listens.
func refusesConnections(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }
