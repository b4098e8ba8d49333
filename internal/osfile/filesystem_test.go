package osfile_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/osfile"
)

func TestCapacity(t *testing.T) {
	capacity, free, ok := osfile.Capacity(t.TempDir())
	assert.Equal(t, runtime.GOOS == "linux" || runtime.GOOS == "darwin", ok)
	assert.Equal(t, ok, capacity > 0)
	assert.LessOrEqual(t, free, capacity)

	capacity, free, ok = osfile.Capacity(filepath.Join(t.TempDir(), "none"))
	assert.False(t, ok)
	assert.Zero(t, capacity+free)
}

func TestCgroupVersion(t *testing.T) {
	want := 2
	if runtime.GOOS == "linux" {
		want = 1 // No cgroup v2 hierarchy is mounted there.
	}
	assert.Equal(t, want, osfile.CgroupVersion(t.TempDir()))
	assert.Equal(t, 2, osfile.CgroupVersion(filepath.Join(t.TempDir(), "none")))
}
