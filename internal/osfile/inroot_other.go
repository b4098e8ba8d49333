//go:build !linux

package osfile

import (
	"errors"
	"os"
)

// openRegularInRoot returns errors.ErrUnsupported: this system cannot resolve a path in another root directory.
func openRegularInRoot(*os.Root, string) (*os.File, error) { return nil, errors.ErrUnsupported }
