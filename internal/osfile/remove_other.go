//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package osfile

import (
	"context"
	"os"
)

func removeAll(ctx context.Context, dir *os.Root, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return dir.RemoveAll(name)
}
