package logfiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// A host directory that is mounted among the logs keeps its files: the removal stops there with the
// same error each time.
func TestRemove_StopsAtMount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	d, top := logs(t, "logs/ns_web_u1/c/0.log", "host/precious")
	at := filepath.Join(top, "logs/ns_web_u1/c/m")
	require.NoError(t, os.Mkdir(at, 0o755))
	if err := syscall.Mount(filepath.Join(top, "host"), at, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	first := d.Remove(t.Context(), "u1", all)
	t.Cleanup(func() {
		trees, _ := filepath.Glob(filepath.Join(top, "logs/.trash/*/c/m"))
		for _, at := range append(trees, at) {
			_ = syscall.Unmount(at, syscall.MNT_DETACH)
		}
	})
	require.ErrorIs(t, first, osfile.ErrMount)
	assert.EqualError(t, d.Remove(t.Context(), "u1", all), first.Error())
	left, err := d.Sweep(t.Context())
	assert.Equal(t, 1, left)
	require.ErrorIs(t, err, osfile.ErrMount)
	assert.FileExists(t, filepath.Join(top, "host/precious"))
	assert.NoDirExists(t, filepath.Join(top, "logs/ns_web_u1"), "the name is free")

	trees, err := filepath.Glob(filepath.Join(top, "logs/.trash/*/c/m"))
	require.NoError(t, err)
	require.Len(t, trees, 1)
	require.NoError(t, syscall.Unmount(trees[0], 0))
	require.NoError(t, d.Remove(t.Context(), "u1", all))
	assert.Equal(t, []string{"host/precious"}, tree(t, top))
}

// On a disk that is full of logs the removal of a pod succeeds: it needs no free space.
func TestRemove_FullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	d, top := logs(t)
	require.NoError(t, os.MkdirAll(filepath.Join(top, "logs"), 0o755))
	if err := syscall.Mount("tmpfs", filepath.Join(top, "logs"), "tmpfs", 0, "nr_inodes=16"); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(filepath.Join(top, "logs"), syscall.MNT_DETACH) })
	dir := filepath.Join(top, "logs/ns_web_u1/c")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var err error
	for i := 0; err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".log")), nil, 0o600)
	}
	require.True(t, osfile.IsDiskFull(err), "%v", err)
	require.NoError(t, d.Remove(t.Context(), "u1", all))
	assert.NoDirExists(t, filepath.Dir(dir))
}
