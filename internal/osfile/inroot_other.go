//go:build !linux

package osfile

import (
	"errors"
	"os"
)

// openInRoot is not supported on this system.
func openInRoot(*os.Root, string) (*os.File, error) { return nil, errors.ErrUnsupported }
