//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// isPrivateDir reports whether only this user, or root, may write to a directory.
func isPrivateDir(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0) && info.Mode().Perm()&0o022 == 0
}

// refusesConnections reports whether the error of a dial means that no process listens.
func refusesConnections(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
