package osfile

import (
	"context"
	"errors"
	"os"
)

// The errors of RemoveAll that are no failures of the file system.
var (
	// ErrMount is returned if something is mounted on what is to be removed, or below
	// it. The removal has stopped there.
	ErrMount = errors.New("something is mounted there, which is not removed")
	// ErrMountsUnknown is returned where the system does not tell what is mounted:
	// neither openat2 nor mount IDs are to be had. Nothing was removed there.
	ErrMountsUnknown = errors.New("whether something is mounted there cannot be told: neither openat2 nor /proc/self/fdinfo is to be had")
)

// RemoveAll removes an entry of a directory, and all below it. The name is one
// element of a path, or of one of the trash. An entry that is missing is no error.
// Mounts are not crossed: see ErrMount and ErrMountsUnknown. The end of ctx ends it
// between two entries. After any error, as much has been removed as could be until
// then, and the call may be repeated.
func RemoveAll(ctx context.Context, dir *os.Root, name string) error {
	return removeAll(ctx, dir, name)
}
