package volume_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// TestIsOnlyNotUpdated: each branch of an error counts.
func TestIsOnlyNotUpdated(t *testing.T) {
	disk := errors.New("no disk")
	files := &volume.NotUpdatedError{Err: errors.New("no ConfigMap")}
	ofVolume := fmt.Errorf("volumes: %w", &volume.SetUpError{Volume: "v", Err: files})
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{disk, false},
		{errors.Join(), false},
		{files, true},
		{ofVolume, true},
		{errors.Join(files, ofVolume), true},
		{errors.Join(files, disk), false},
		{&volume.SetUpError{Volume: "v", Err: disk}, false},
		{&volume.NotUpdatedError{Err: disk}, true},
	} {
		assert.Equal(t, c.want, volume.IsOnlyNotUpdated(c.err), "%v", c.err)
	}
	assert.EqualError(t, ofVolume, `volumes: volume "v": no ConfigMap`)
}
