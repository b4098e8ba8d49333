//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// isWritableOnlyByUserOrRoot reports whether this user or root owns a directory, and no other user may write to
// it. Others may be able to read it.
func isWritableOnlyByUserOrRoot(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0) && info.Mode().Perm()&0o022 == 0
}

// refusesConnections reports whether the error of a dial says that no process listens at the address.
func refusesConnections(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
