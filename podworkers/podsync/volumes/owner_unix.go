//go:build unix

package volumes

import (
	"io/fs"
	"syscall"
)

// groupOf is the group to which a file belongs.
func groupOf(info fs.FileInfo) (group int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Gid), true
}
