//go:build unix

package manifest_test

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestScan_F31_NotFiles: other kinds of files are skipped and reported once. The scan does not wait for a writer, and
// the snapshot is complete.
func TestScan_F31_NotFiles(t *testing.T) {
	d := newDir(t)
	t.Chdir(d.path) // The path of a socket has to be short.
	require.NoError(t, syscall.Mkfifo("fifo", 0o600))
	socket, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, os.Mkdir("x.yaml", 0o700))
	require.NoError(t, os.Symlink("/dev/zero", "zero"))
	require.NoError(t, os.Symlink("fifo", "tofifo"))
	d.write("a", podYAML("a", "i"))
	assert.Equal(t, "a-n1 [fifo:0 not a file] [socket:0 not a file] [tofifo:0 not a file] [x.yaml:0 not a file] [zero:0 not a file]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "manifest: not a regular file: a FIFO")
	assert.EqualError(t, d.problems[4].Err, "manifest: not a regular file: a character device")
	assert.Equal(t, "a-n1", d.scan())

	d.remove("a")
	require.NoError(t, syscall.Mkfifo("a", 0o600))
	assert.Equal(t, "a-n1 [a:0 not a file kept]", d.scan(), "it was a file with a pod: that is not an answer")
}

// TestScan_F31_SinglePathIsNoFile: a pipe as the configured path is a mistake of the user, and changes no pod.
func TestScan_F31_SinglePathIsNoFile(t *testing.T) {
	d := newDir(t, "fifo")
	require.NoError(t, syscall.Mkfifo(d.file("fifo"), 0o600))
	assert.Equal(t, "error [fifo:0 not a file]", d.scan())
}

// TestScan_F31_KernelFile: a file whose content the kernel generates may block its reader, as /proc/kmsg does. It is
// not read.
func TestScan_F31_KernelFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no proc")
	}
	d := newDir(t)
	require.NoError(t, os.Symlink("/proc/version", d.file("kernel.yaml")))
	assert.Equal(t, "[kernel.yaml:0 not a file]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "manifest: not a regular file: a file of the kernel")
}

// TestScan_F31_DirFS: a pipe in an fs.FS of the embedder does not block the scan either.
func TestScan_F31_DirFS(t *testing.T) {
	d := newDir(t)
	require.NoError(t, syscall.Mkfifo(d.file("fifo"), 0o600))
	d.write("a", podYAML("a", "i"))
	d.open(manifest.Config{Path: ".", FS: os.DirFS(d.path), ReadTimeout: time.Hour})
	snapshot, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a-n1"}, names(snapshot))
	require.Len(t, d.problems, 1)
	assert.EqualError(t, d.problems[0].Err, "manifest: not a regular file: a FIFO")
}

// TestScan_F30_Links: links to regular files are followed. A link to a missing file is broken, not removed.
func TestScan_F30_Links(t *testing.T) {
	d := newDir(t)
	outside := newDir(t)
	outside.write("target", podYAML("a", "i"))
	require.NoError(t, os.Symlink(outside.file("target"), d.file("a")))
	require.NoError(t, os.Symlink("loop", d.file("loop")))
	assert.Equal(t, "a-n1 incomplete [loop:0 unreadable]", d.scan())
	d.remove("loop")

	outside.remove("target")
	assert.Equal(t, "a-n1 [a:0 unreadable kept]", d.scan(), "dangling")
	assert.Equal(t, "a-n1", d.scan())
	d.remove("a")
	assert.Equal(t, "", d.scan(), "the link itself is gone")
	require.NoError(t, os.Symlink("nowhere", d.file("b")))
	assert.Equal(t, "incomplete [b:0 unreadable]", d.scan())
}

// TestScan_F30_ConfigMapVolume: a link to a directory of versions is switched.
func TestScan_F30_ConfigMapVolume(t *testing.T) {
	d := newDir(t)
	version := func(name, image string) {
		require.NoError(t, os.Mkdir(d.file(name), 0o700))
		d.write(name+"/web.yaml", podYAML("web", image))
		require.NoError(t, os.Symlink(name, d.file("..data_tmp")))
		require.NoError(t, os.Rename(d.file("..data_tmp"), d.file("..data")))
	}
	version("..1", "one")
	require.NoError(t, os.Symlink("..data/web.yaml", d.file("web.yaml")))
	assert.Equal(t, "web-n1", d.scan())
	version("..2", "two")
	d.remove("..1")
	snapshot, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "two", snapshot.Pods[0].Spec.Containers[0].Image)
	assert.Empty(t, d.problems)
}

// TestScan_F29_PermissionLost: a missing permission is an error of the file, or of the directory.
func TestScan_F29_PermissionLost(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	d := newDir(t)
	d.write("a", podYAML("a", "i"))
	d.scan()
	require.NoError(t, os.Chmod(d.file("a"), 0))
	assert.Equal(t, "a-n1 [a:0 unreadable kept]", d.scan())
	defer func() { require.NoError(t, os.Chmod(d.path, 0o700)) }()
	require.NoError(t, os.Chmod(d.path, 0o400))
	assert.Equal(t, "a-n1 error [.:0 listing kept]", d.scan(), "no file of the directory can be read")
	require.NoError(t, os.Chmod(d.path, 0))
	assert.Equal(t, "a-n1 error", d.scan())
}
