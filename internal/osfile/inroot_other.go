//go:build !linux

package osfile

import (
	"errors"
	"os"
)

func openInRoot(*os.Root, string) (*os.File, error) { return nil, errors.ErrUnsupported }
