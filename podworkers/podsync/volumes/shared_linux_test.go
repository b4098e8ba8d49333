package volumes

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A directory of the host has a mount below it and is bind-mounted, as a shared mount, in a volume of a
// pod. After the removal of the pod the mount on the host still exists.
func TestTearDown_LeavesMountsOfTheHostThatAreShared(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	top := t.TempDir()
	host := filepath.Join(top, "host")
	require.NoError(t, os.Mkdir(host, 0o755))
	if err := syscall.Mount("tmpfs", host, "tmpfs", 0, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	disk := filepath.Join(host, "disk")
	require.NoError(t, syscall.Mount("", host, "", syscall.MS_SHARED, ""))
	require.NoError(t, os.Mkdir(disk, 0o755))
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", 0, ""))
	t.Cleanup(func() { assert.NoError(t, unmountTree(host)) })
	require.NoError(t, os.WriteFile(filepath.Join(disk, "f"), nil, 0o600))

	d, err := New(Config{Root: filepath.Join(top, "state")})
	require.NoError(t, err)
	at := filepath.Join(top, "state", "pods", "u", "volumes", "e", "x")
	require.NoError(t, os.MkdirAll(at, 0o755))
	require.NoError(t, syscall.Mount(host, at, "", syscall.MS_BIND|syscall.MS_REC, ""))
	require.NoError(t, syscall.Mount("tmpfs", at, "tmpfs", 0, "")) // Over it.
	require.NoError(t, d.TearDown(t.Context(), "u"))
	assert.NoDirExists(t, filepath.Dir(at))
	assert.FileExists(t, filepath.Join(disk, "f"))
}
