package osfile

import (
	"context"
	"errors"
	"os"
)

// Errors of RemoveAll that are not failures of the file system.
var (
	// ErrMount means that something is mounted on the entry, or below it. The removal has stopped there.
	ErrMount = errors.New("something is mounted there, which is not removed")
	// ErrMountsUnknown means that the system does not report mounts: it has neither openat2 nor mount IDs. Nothing was
	// removed there.
	ErrMountsUnknown = errors.New("cannot detect mounts: neither openat2 nor /proc/self/fdinfo is available")
)

// RemoveAll removes an entry of a directory, and everything below it. The name is one element of a path, or the Path of
// a Discarded. A missing entry is no error. RemoveAll does not cross mounts: see ErrMount and ErrMountsUnknown. It
// stops between two entries when ctx is done. After an error the call may be repeated.
func RemoveAll(ctx context.Context, dir *os.Root, name string) error {
	return removeAll(ctx, dir, name)
}
