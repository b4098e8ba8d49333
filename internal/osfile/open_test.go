package osfile_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

func openRoot(t *testing.T, path string) *os.Root {
	dir, err := os.OpenRoot(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	return dir
}

// A missing file is created if the caller requests that, and is an error otherwise.
func TestOpen_Missing(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	_, err := osfile.OpenDir(filepath.Join(at, "x"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = osfile.OpenSubdir(dir, "x")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = osfile.OpenFile(dir, "x", os.O_RDONLY, 0)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for _, name := range []string{"", ".", "..", "a/b", `a\b`} {
		_, err = osfile.OpenSubdir(dir, name)
		assert.ErrorIs(t, err, fs.ErrInvalid, "%q", name)
	}

	f, err := osfile.OpenFile(dir, "x", os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Mkdir(filepath.Join(at, "d"), 0o700))
	for _, opened := range []func() (*os.Root, error){
		func() (*os.Root, error) { return osfile.OpenDir(filepath.Join(at, "d")) },
		func() (*os.Root, error) { return osfile.OpenSubdir(dir, "d") },
	} {
		sub, err := opened()
		require.NoError(t, err)
		require.NoError(t, sub.Close())
	}
}

// A regular file is opened by each way there is, through links only where these are
// followed; a directory is listed.
func TestOpen_Regular(t *testing.T) {
	at := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(at, "x"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("x", filepath.Join(at, "link")))
	require.NoError(t, os.Symlink("/", filepath.Join(at, "out")))
	dir := openRoot(t, at)
	for name, opened := range map[string]func(string) (*os.File, error){
		"path":   func(name string) (*os.File, error) { return osfile.OpenPath(filepath.Join(at, name)) },
		"within": func(name string) (*os.File, error) { return osfile.OpenWithin(dir, name) },
		"file":   func(name string) (*os.File, error) { return osfile.OpenFile(dir, name, os.O_RDONLY, 0) },
		"leaf":   func(name string) (*os.File, error) { return osfile.OpenPathNoFollow(filepath.Join(at, name)) },
	} {
		for _, file := range []string{"x", "link"} {
			f, err := opened(file)
			if file == "link" && (name == "file" || name == "leaf") {
				assert.EqualError(t, err, "not a regular file: a symbolic link")
				continue
			}
			require.NoError(t, err)
			text, err := io.ReadAll(f)
			require.NoError(t, err)
			assert.Equal(t, "text", string(text))
			require.NoError(t, f.Close())
		}
	}
	for _, opened := range []func() (*os.File, error){
		func() (*os.File, error) { return osfile.OpenList(at) },
		func() (*os.File, error) { return osfile.OpenListWithin(dir, ".") },
	} {
		f, err := opened()
		require.NoError(t, err)
		names, err := f.Readdirnames(-1)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"x", "link", "out"}, names)
		require.NoError(t, f.Close())
	}
	_, err := osfile.OpenListWithin(dir, "out")
	assert.ErrorContains(t, err, "escapes")
}

// A directory below another is opened through directories alone, not through links.
func TestOpenDirWithin(t *testing.T) {
	at := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(at, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(at, "a", "f"), nil, 0o600))
	dir := openRoot(t, at)
	for _, path := range []string{".", "a", "a/b"} {
		sub, err := osfile.OpenDirWithin(dir, path)
		require.NoError(t, err)
		opened, err := sub.Stat(".")
		require.NoError(t, err)
		wanted, err := os.Stat(filepath.Join(at, path))
		require.NoError(t, err)
		assert.True(t, os.SameFile(wanted, opened), path)
		require.NoError(t, sub.Close())
	}
	_, err := osfile.OpenDirWithin(dir, "a/f")
	assert.ErrorIs(t, err, osfile.ErrNotDirectory)
	_, err = osfile.OpenDirWithin(dir, "a/gone/b")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = osfile.OpenDirWithin(dir, "a/../a")
	assert.ErrorIs(t, err, fs.ErrInvalid)
	if err := os.Symlink("a", filepath.Join(at, "link")); err == nil {
		_, err = osfile.OpenDirWithin(dir, "link/b")
		assert.ErrorIs(t, err, osfile.ErrNotDirectory)
	}
}
