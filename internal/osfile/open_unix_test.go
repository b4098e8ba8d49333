//go:build unix

package osfile_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// Whatever is in the place of a directory or of a regular file is an error, at once.
// A FIFO that is opened would hang this test.
func TestOpen_OtherKinds(t *testing.T) {
	for kind, make := range map[string]func(name string) error{
		"a FIFO":   func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a socket": createSocket,
		"a character device": func(name string) error {
			return syscall.Mknod(name, syscall.S_IFCHR|0o666, 1<<8|5)
		},
		"a symbolic link": func(name string) error { return os.Symlink(name, name) }, // To itself.
		"a regular file":  func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"a directory":     func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := make("x"); err != nil {
				t.Skip("it cannot be made here: ", err)
			}
			at, err := os.Getwd()
			require.NoError(t, err)
			dir := openRoot(t, at)
			if kind != "a directory" {
				_, err = osfile.OpenSubdir(dir, "x")
				require.EqualError(t, err, "open x: not a directory: "+kind)
				require.ErrorIs(t, err, osfile.ErrNotDirectory)
				_, err = osfile.OpenDir(filepath.Join(at, "x"))
				if kind == "a symbolic link" {
					assert.EqualError(t, err, "open "+at+"/x: too many levels of symbolic links")
				} else {
					assert.EqualError(t, err, "open "+at+"/x: not a directory: "+kind)
				}
			}
			if kind != "a directory" {
				within, err := osfile.OpenListWithin(dir, "x")
				require.Error(t, err, "%v", within)
				listed, err := osfile.OpenList(filepath.Join(at, "x"))
				require.Error(t, err, "%v", listed)
				if kind != "a symbolic link" {
					require.ErrorIs(t, err, osfile.ErrNotDirectory)
				}
			}
			if kind != "a regular file" {
				_, err = osfile.OpenPathNoFollow(filepath.Join(at, "x"))
				require.EqualError(t, err, "not a regular file: "+kind)
				if kind != "a symbolic link" { // To itself.
					_, err = osfile.OpenPath(filepath.Join(at, "x"))
					require.EqualError(t, err, "not a regular file: "+kind)
					_, err = osfile.OpenWithin(dir, "x")
					require.EqualError(t, err, "not a regular file: "+kind)
				}
				for _, flags := range []int{os.O_RDONLY, os.O_WRONLY | os.O_CREATE, os.O_RDWR} {
					_, err = osfile.OpenFile(dir, "x", flags, 0o600)
					require.EqualError(t, err, "not a regular file: "+kind)
					require.ErrorIs(t, err, osfile.ErrNotRegular)
				}
			}
		})
	}
}

// Files of the kernel look regular, and a read of one may wait for ever or consume what
// it reads.
func TestOpen_KernelFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no proc")
	}
	proc := openRoot(t, "/proc")
	for _, err := range []error{
		secondError(osfile.OpenPath("/proc/version")),
		secondError(osfile.OpenPathNoFollow("/proc/version")),
		secondError(osfile.OpenWithin(proc, "version")),
		secondError(osfile.OpenFile(proc, "version", os.O_RDONLY, 0)),
	} {
		require.ErrorIs(t, err, osfile.ErrNotRegular)
		require.EqualError(t, err, "not a regular file: a file of the kernel")
	}
}

func secondError(_ *os.File, err error) error { return err }

func createSocket(name string) error {
	l, err := net.Listen("unix", name)
	if err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		err = l.Close()
	}
	return err
}
