//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package osfile

import (
	"context"
	"os"
)

// removeAll removes an entry and everything below it with the standard library.
func removeAll(ctx context.Context, dir *os.Root, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return dir.RemoveAll(name)
}
