//go:build !unix

package main

import (
	"errors"
	"io/fs"
	"os"
)

// isWritableOnlyByUserOrRoot returns true without a check: file permissions are not checked on this system.
func isWritableOnlyByUserOrRoot(fs.FileInfo) bool { return true }

// refusesConnections reports whether the error of a dial says that no process listens at the address.
func refusesConnections(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }
