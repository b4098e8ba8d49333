//go:build unix

package debug

import "syscall"

// maxOpenFiles returns how many files the process may open; 0 is no limit.
func maxOpenFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || int64(limit.Cur) < 0 {
		return 0
	}
	return uint64(limit.Cur)
}
