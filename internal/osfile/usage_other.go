//go:build !linux

package osfile

import (
	"context"
	"errors"
)

// Measure returns errors.ErrUnsupported: trees are measured on Linux only.
func (w *UsageWalk) Measure(context.Context, string) (Usage, error) {
	return Usage{}, errors.ErrUnsupported
}
