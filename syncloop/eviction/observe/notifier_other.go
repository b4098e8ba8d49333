//go:build !linux

package observe

import (
	"context"
	"errors"
)

// waitForCrossing returns an error, because only Linux has cgroups.
func (m *MemoryNotifier) waitForCrossing(context.Context) (bool, error) {
	return false, errors.New("observe: this system has no cgroups")
}
