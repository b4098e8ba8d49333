//go:build unix

package volumes

import (
	"io/fs"
	"syscall"
)

// fileGroup returns the group of a file.
func fileGroup(info fs.FileInfo) (group int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Gid), true
}
