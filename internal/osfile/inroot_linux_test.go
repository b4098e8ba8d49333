package osfile_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// A container may have made anything of a path. Links lead where they would with the directory
// as root, and never out of it; only a regular file is opened.
func TestOpenInRoot(t *testing.T) {
	at := t.TempDir()
	root := filepath.Join(at, "volume")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(at, "secret"), []byte("of the host"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), []byte("inside"), 0o600))
	for name, target := range map[string]string{
		"relative": "file", "sub/up": "../file", "absolute": "/file", "beyond": "../../../file",
		"out": "../secret", "host": filepath.Join(at, "secret"), "loop": "loop", "magic": "/proc/self/environ", "dir": "sub",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o666))
	dir := openRoot(t, root)
	for _, name := range []string{"file", "./sub/../file", "relative", "sub/up", "absolute", "beyond", "dir/up"} {
		f, err := osfile.OpenInRoot(dir, name)
		require.NoError(t, err, name)
		text, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.Equal(t, "inside", string(text), name)
	}
	for _, name := range []string{"none", "out", "host", "magic", "../secret", filepath.Join(at, "secret")} {
		_, err := osfile.OpenInRoot(dir, name)
		assert.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	for name, want := range map[string]string{
		"fifo": "not a regular file: a FIFO", "sub": "not a regular file: a directory",
		"loop": "open loop: too many levels of symbolic links", "file/x": "open file/x: not a directory",
	} {
		_, err := osfile.OpenInRoot(dir, name)
		assert.EqualError(t, err, want)
	}
}

func TestOpenInRoot_KernelFile(t *testing.T) {
	_, err := osfile.OpenInRoot(openRoot(t, "/proc"), "version")
	require.EqualError(t, err, "not a regular file: a file of the kernel")
}
