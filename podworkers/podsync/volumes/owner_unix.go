//go:build unix

package volumes

import (
	"io/fs"
	"syscall"
)

// fileGroup returns the group ID of a file. known is false if the system does not report it.
func fileGroup(info fs.FileInfo) (group int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Gid), true
}
