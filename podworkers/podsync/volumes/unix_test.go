//go:build unix

package volumes_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
)

func group(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }

// A container makes of its file what it likes: nobody follows, waits or reads.
func TestReadTerminationLog_F31_F95(t *testing.T) {
	w := newWorld(t)
	path, err := w.dir.TerminationLog(w.pod, "c", 0)
	require.NoError(t, err)
	for want, make := range map[string]func() error{
		"a symbolic link": func() error { return os.Symlink("/etc/passwd", path) },
		"a FIFO":          func() error { return syscall.Mkfifo(path, 0o666) },
		"a directory":     func() error { return os.Mkdir(path, 0o777) },
		"a socket": func() error {
			t.Chdir(w.path("containers/c"))
			l, err := net.Listen("unix", "0")
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		},
	} {
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, make(), want)
		_, err := w.dir.ReadTerminationLog("u", "c", 0, 10)
		assert.EqualError(t, err, "volumes: termination log of container c: it is no regular file: "+want)
		_, err = w.dir.TerminationLog(w.pod, "c", 0)
		assert.EqualError(t, err, "volumes: termination log of container c: it is no regular file: "+want, "nor is it made there")
	}
}

func TestHostPath_Socket(t *testing.T) {
	w := newWorld(t)
	t.Chdir(t.TempDir())
	l, err := net.Listen("unix", "s")
	require.NoError(t, err)
	defer l.Close()
	at, err := os.Getwd()
	require.NoError(t, err)
	w.pod.Spec.Volumes = []v1.Volume{hostPath(at+"/s", v1.HostPathSocket)}
	assert.NoError(t, w.dir.SetUp(context.Background(), w.pod))
}

// A device as a file for last words.
func TestReadTerminationLog_F95_Device(t *testing.T) {
	needsRoot(t)
	w := newWorld(t)
	path, err := w.dir.TerminationLog(w.pod, "c", 0)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Skip("no devices here: ", err)
	}
	_, err = w.dir.ReadTerminationLog("u", "c", 0, 10)
	assert.EqualError(t, err, "volumes: termination log of container c: it is no regular file: a character device")
}

// A container makes directories until the agent would run out of files.
func TestTearDown_Deep(t *testing.T) {
	w := newWorld(t, empty("v"))
	w.setUp()
	t.Chdir(w.path("volumes/v"))
	for range 400 {
		require.NoError(t, os.Mkdir("d", 0o755))
		require.NoError(t, os.Chdir("d"))
	}
	require.NoError(t, os.Chdir("/"))
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = 200
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.NoDirExists(t, w.path())
}
