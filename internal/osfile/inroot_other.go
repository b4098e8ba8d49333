//go:build !linux

package osfile

import (
	"errors"
	"os"
)

// openRegularFollowingLinksInRoot returns errors.ErrUnsupported: this system cannot resolve a path in another root directory.
func openRegularFollowingLinksInRoot(*os.Root, string) (*os.File, error) {
	return nil, errors.ErrUnsupported
}
