//go:build unix

package debug

import "syscall"

// openFileLimit returns how many files the process may open. 0 means that there is no limit or that it is
// unknown.
func openFileLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || int64(limit.Cur) < 0 {
		return 0
	}
	return uint64(limit.Cur)
}
