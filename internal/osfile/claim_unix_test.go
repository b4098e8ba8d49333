//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package osfile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// A directory is locked once, until the file is closed.
func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	first, err := osfile.LockDir(dir)
	require.NoError(t, err)
	_, err = osfile.LockDir(dir)
	assert.ErrorIs(t, err, osfile.ErrLocked)
	require.NoError(t, first.Close())
	second, err := osfile.LockDir(dir)
	require.NoError(t, err)
	require.NoError(t, second.Close())
	_, err = osfile.LockDir(dir + "/none")
	assert.Error(t, err)
}
