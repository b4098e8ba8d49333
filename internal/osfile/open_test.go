package osfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

func open(t *testing.T, path string) *os.Root {
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	return dir
}

// What is not there is made if the caller says so, and is an error otherwise.
func TestOpen_Missing(t *testing.T) {
	at := t.TempDir()
	dir := open(t, at)
	_, err := osfile.OpenDir(filepath.Join(at, "x"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = osfile.OpenSub(dir, "x")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = osfile.OpenFile(dir, "x", os.O_RDONLY, 0)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for _, name := range []string{"", ".", "..", "a/b", `a\b`} {
		_, err = osfile.OpenSub(dir, name)
		assert.ErrorIs(t, err, fs.ErrInvalid, "%q", name)
	}

	f, err := osfile.OpenFile(dir, "x", os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Mkdir(filepath.Join(at, "d"), 0o700))
	for _, opened := range []func() (*os.Root, error){
		func() (*os.Root, error) { return osfile.OpenDir(filepath.Join(at, "d")) },
		func() (*os.Root, error) { return osfile.OpenSub(dir, "d") },
	} {
		sub, err := opened()
		require.NoError(t, err)
		require.NoError(t, sub.Close())
	}
}
