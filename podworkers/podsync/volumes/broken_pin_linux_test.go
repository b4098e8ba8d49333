package volumes_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// breakMount puts at a path what a daemon of a file system leaves behind that has ended:
// each access fails with ENOTCONN.
func breakMount(t *testing.T, at string) {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no file system can break here: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device.Fd())
	if err := syscall.Mount("broken", at, "fuse", 0, options); err != nil {
		device.Close()
		t.Skip("no file system can break here: ", err)
	}
	require.NoError(t, device.Close())
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	_, err = os.Lstat(at)
	require.ErrorIs(t, err, syscall.ENOTCONN)
}

// TestSubPath_N37_39_ABrokenPinIsMadeAgain: the mount of an earlier attempt is of a
// file system whose server is gone. It is unmounted, and the subPath is pinned as it is now.
func TestSubPath_N37_39_ABrokenPinIsMadeAgain(t *testing.T) {
	needsMounts(t)
	w := newHarness(t, empty("v"))
	w.setUp()
	m, err := w.mount(v1.VolumeMount{Name: "v", SubPath: "a/b"})
	require.NoError(t, err)
	breakMount(t, m.HostPath)

	again, err := w.mount(v1.VolumeMount{Name: "v", SubPath: "a/b"})
	require.NoError(t, err)
	assert.Equal(t, m.HostPath, again.HostPath)
	require.NoError(t, os.WriteFile(again.HostPath+"/x", []byte("x"), 0o600))
	assert.Equal(t, "x", w.read("volumes/v/a/b/x"))
	assert.Equal(t, 1, mountsBelow(t, w.path()), "nothing of the broken one is left")

	breakMount(t, m.HostPath)
	require.NoError(t, w.dir.TearDown(context.Background(), "u"))
	assert.Equal(t, 0, mountsBelow(t, w.path()))
	assert.NoDirExists(t, w.path())
}
