package volume_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

func TestFindSetUpErrors(t *testing.T) {
	disk := errors.New("no disk")
	a, b := &volume.SetUpError{Volume: "a", Err: disk}, &volume.SetUpError{Volume: "b", Err: fmt.Errorf("x: %w", disk)}
	assert.EqualError(t, b, `volume "b": x: no disk`)
	assert.ErrorIs(t, b, disk)
	for name, c := range map[string]struct {
		err  error
		want []*volume.SetUpError
		only bool
	}{
		"nil":            {nil, nil, true},
		"another error":  {disk, nil, false},
		"one":            {a, []*volume.SetUpError{a}, true},
		"wrapped":        {fmt.Errorf("volumes: %w", a), []*volume.SetUpError{a}, true},
		"joined":         {fmt.Errorf("volumes: %w", errors.Join(a, fmt.Errorf("y: %w", b))), []*volume.SetUpError{a, b}, true},
		"joined, other":  {errors.Join(a, disk, b), []*volume.SetUpError{a, b}, false},
		"two in one":     {fmt.Errorf("%w, %w", b, a), []*volume.SetUpError{b, a}, true},
		"wraps no error": {fmt.Errorf("x: %w", nil), nil, false},
	} {
		found, only := volume.FindSetUpErrors(c.err)
		assert.Equal(t, c.want, found, name)
		assert.Equal(t, c.only, only, name)
	}
}
