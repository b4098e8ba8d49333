package observe

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"syscall"
)

// readDisk returns the usage of the file system that contains a directory.
func readDisk(directory string) (disk, error) {
	info, err := os.Stat(directory)
	if err != nil {
		return disk{}, fmt.Errorf("observe: %w", err)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(directory, &s); err != nil {
		return disk{}, fmt.Errorf("observe: statfs %s: %w", directory, err)
	}
	d := disk{
		free: multiplySaturating(s.Bavail, uint64(s.Bsize)), capacity: multiplySaturating(s.Blocks, uint64(s.Bsize)),
		freeInodes: multiplySaturating(s.Ffree, 1), inodes: multiplySaturating(s.Files, 1),
	}
	if s.Files == 0 {
		d.freeInodes, d.inodes = math.MaxInt64, math.MaxInt64 // Such as btrfs, which has no limit.
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		d.device = uint64(stat.Dev)
	}
	return d, nil
}

// multiplySaturating returns a * b, and the largest int64 if that is too large.
func multiplySaturating(a, b uint64) int64 {
	high, low := bits.Mul64(a, b)
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
