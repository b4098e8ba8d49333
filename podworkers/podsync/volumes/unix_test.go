//go:build unix

package volumes_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func group(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }

// A container may replace its termination log by anything. The read follows no link, does not wait, and
// reads only a regular file.
func TestReadTerminationLog_F31_F95(t *testing.T) {
	w := newHarness(t)
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
		assert.EqualError(t, err, "volumes: termination log of container c: not a regular file: "+want)
		_, err = w.dir.TerminationLog(w.pod, "c", 0)
		assert.EqualError(t, err, "volumes: termination log of container c: not a regular file: "+want, "nor is it made there")
	}
}

func TestHostPath_Socket(t *testing.T) {
	w := newHarness(t)
	t.Chdir(t.TempDir())
	l, err := net.Listen("unix", "s")
	require.NoError(t, err)
	defer l.Close()
	at, err := os.Getwd()
	require.NoError(t, err)
	w.pod.Spec.Volumes = []v1.Volume{hostPath(at+"/s", v1.HostPathSocket)}
	assert.NoError(t, w.dir.SetUp(context.Background(), w.pod))
}

// A device as a file for termination message.
func TestReadTerminationLog_F95_Device(t *testing.T) {
	needsRoot(t)
	w := newHarness(t)
	path, err := w.dir.TerminationLog(w.pod, "c", 0)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Skip("no devices here: ", err)
	}
	_, err = w.dir.ReadTerminationLog("u", "c", 0, 10)
	assert.EqualError(t, err, "volumes: termination log of container c: not a regular file: a character device")
}

// A container makes directories until the agent would run out of files.
func TestTearDown_Deep(t *testing.T) {
	w := newHarness(t, empty("v"))
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

// A hostPath may lead to a file of any kind. With a subPath only a directory is opened. Opening a FIFO
// would hang this test.
func TestSubPath_HostPathIsNoDirectory(t *testing.T) {
	for kind, make := range map[string]func(name string) error{
		"not a directory: a FIFO":             func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"not a directory: a character device": func(name string) error { return syscall.Mknod(name, syscall.S_IFCHR|0o666, 1<<8|5) },
		"not a directory: a socket": func(name string) error {
			l, err := net.Listen("unix", name)
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				l.Close()
			}
			return err
		},
		"not a directory: a regular file":   func(name string) error { return os.WriteFile(name, nil, 0o600) },
		"too many levels of symbolic links": func(name string) error { return os.Symlink(name, name) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newHarness(t)
			t.Chdir(t.TempDir())
			if err := make("x"); err != nil {
				t.Skip("it cannot be made here: ", err)
			}
			at, err := os.Getwd()
			require.NoError(t, err)
			w.pod.Spec.Volumes = []v1.Volume{hostPath(at+"/x", v1.HostPathUnset)}
			w.setUp()
			_, err = w.mount(v1.VolumeMount{Name: "host", SubPath: "sub"})
			assert.EqualError(t, err, "volumes: container c: volumeMounts[0] (host): hostPath: open "+at+"/x: "+kind)
			for _, kind := range []v1.HostPathType{v1.HostPathDirectory, v1.HostPathDirectoryOrCreate, v1.HostPathBlockDev} {
				w.pod.Spec.Volumes = []v1.Volume{hostPath(at+"/x", kind)}
				assert.Error(t, w.dir.SetUp(context.Background(), w.pod), "and nothing is waited for")
			}
		})
	}
}

// Each element of a path in a volume may be a file of any kind. Only directories are entered. The last
// element is mounted without being opened.
func TestSubPath_ElementsAreAnything(t *testing.T) {
	needsRoot(t)
	w := newHarness(t, empty("v"))
	w.setUp()
	require.NoError(t, syscall.Mkfifo(w.path("volumes/v/fifo"), 0o666))
	require.NoError(t, os.Symlink("fifo", w.path("volumes/v/link")))
	for _, sub := range []string{"fifo/x", "link/x", "fifo/x/y"} {
		_, err := w.mount(v1.VolumeMount{Name: "v", SubPath: sub})
		assert.ErrorContains(t, err, "not a directory", sub)
	}
}

// If a pipe or another file is in the place of a directory or file of the agent, the error names it,
// and the call does not wait.
func TestState_AnythingInItsPlace(t *testing.T) {
	for _, name := range []string{"", "volumes", "volumes/v", "volumes/cm", "staging", "owner", "etc-hosts", "containers", "containers/c", "containers/c/0", "subpaths", "subpaths/c"} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, empty("v"), configMap("cm"))
			w.objects.maps["cm"] = &v1.ConfigMap{Data: map[string]string{"k": "v"}}
			require.NoError(t, os.MkdirAll(w.path(), 0o755))
			require.NoError(t, os.RemoveAll(w.path(name)))
			require.NoError(t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
			require.NoError(t, syscall.Mkfifo(w.path(name), 0o666))
			ctx := context.Background()
			err := w.dir.SetUp(ctx, w.pod)
			_, mounted := w.mount(v1.VolumeMount{Name: "v", SubPath: "x"})
			_, hosts := w.dir.Hosts(w.pod, []string{"10.0.0.1"}, []string{"p"})
			_, made := w.dir.TerminationLog(w.pod, "c", 0)
			_, read := w.dir.ReadTerminationLog("u", "c", 0, 10)
			assert.ErrorContains(t, errors.Join(err, mounted, hosts, made, read), "a FIFO")
			_, err = w.dir.Pods(func(types.UID) bool { return true }, 10)
			require.NoError(t, err)
			require.NoError(t, w.dir.TearDown(ctx, "u"))
			assert.NoFileExists(t, w.path(name))
		})
	}
}
