package osfile_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// createTree makes directories and files below a directory.
func createTree(t *testing.T, at string, wide, deep int) {
	require.NoError(t, os.MkdirAll(at, 0o755))
	for i := range wide {
		require.NoError(t, os.WriteFile(filepath.Join(at, fmt.Sprint("f", i)), nil, 0o600))
		require.NoError(t, os.Symlink("/nowhere", filepath.Join(at, fmt.Sprint("l", i))))
		if deep > 0 {
			createTree(t, filepath.Join(at, fmt.Sprint("d", i)), wide, deep-1)
		}
	}
}

// Files, links and directories are removed. The target of a link, and files beside the tree, stay.
func TestRemoveAll(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	createTree(t, filepath.Join(at, "beside"), 1, 1)
	createTree(t, filepath.Join(at, "a"), 3, 3)
	require.NoError(t, os.Symlink("beside", filepath.Join(at, "link")))
	for _, name := range []string{"a", "link", "missing", "a"} {
		require.NoError(t, osfile.RemoveAll(t.Context(), dir, name))
	}
	entries, err := os.ReadDir(at)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.FileExists(t, filepath.Join(at, "beside", "d0", "f0"))
	for _, name := range []string{"", ".", "..", "beside/d0"} {
		require.ErrorIs(t, osfile.RemoveAll(t.Context(), dir, name), fs.ErrInvalid, "%q", name)
	}
}

// A canceled removal can be continued.
func TestRemoveAll_Context(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	createTree(t, filepath.Join(at, "a"), 2, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, osfile.RemoveAll(ctx, dir, "a"), context.Canceled)
	assert.FileExists(t, filepath.Join(at, "a", "d0", "f0"))
	require.NoError(t, osfile.RemoveAll(t.Context(), dir, "a"))
	assert.NoDirExists(t, filepath.Join(at, "a"))
}

// Several goroutines remove the same tree at once.
func TestRemoveAll_Concurrent(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	createTree(t, filepath.Join(at, "a"), 4, 3)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { assert.NoError(t, osfile.RemoveAll(t.Context(), dir, "a")) })
	}
	group.Wait()
	assert.NoDirExists(t, filepath.Join(at, "a"))
}

// The name is free at once, for any number of discarded directories. The trash records the owner of each, and is empty
// at the end.
func TestDiscard(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	require.ErrorIs(t, osfile.Discard(dir, "a", "a"), fs.ErrNotExist)
	for range 3 {
		createTree(t, filepath.Join(at, "a"), 1, 1)
		require.NoError(t, osfile.Discard(dir, "a", "a"))
		assert.NoDirExists(t, filepath.Join(at, "a"))
	}
	createTree(t, filepath.Join(at, "b"), 1, 0)
	require.NoError(t, osfile.Discard(dir, "b", "other"))
	all, err := osfile.ListTrash(dir)
	require.NoError(t, err)
	var owners []string
	for _, d := range all {
		owners = append(owners, d.Owner)
		osfile.RemoveTrashIfEmpty(dir)
		require.NoError(t, osfile.RemoveAll(t.Context(), dir, d.Path()))
	}
	assert.Equal(t, []string{"a", "a", "a", "other"}, owners)
	osfile.RemoveTrashIfEmpty(dir)
	entries, err := os.ReadDir(at)
	require.NoError(t, err)
	assert.Empty(t, entries)
	for _, bad := range [][2]string{{"../a", "a"}, {"a", "a/b"}, {"a", "a~b"}, {"", "a"}, {".trash", "a"}} {
		assert.ErrorIs(t, osfile.Discard(dir, bad[0], bad[1]), fs.ErrInvalid)
	}
}

// Concurrent calls discard entries and remove the empty trash.
func TestDiscard_Concurrent(t *testing.T) {
	at := t.TempDir()
	dir := openRoot(t, at)
	var group sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("n", i)
		group.Go(func() {
			for range 50 {
				assert.NoError(t, dir.Mkdir(name, 0o700))
				assert.NoError(t, osfile.Discard(dir, name, name))
				all, err := osfile.ListTrash(dir)
				assert.NoError(t, err)
				for _, d := range all {
					assert.NoError(t, osfile.RemoveAll(t.Context(), dir, d.Path()))
				}
				osfile.RemoveTrashIfEmpty(dir)
			}
		})
	}
	group.Wait()
	all, err := osfile.ListTrash(dir)
	require.NoError(t, err)
	assert.Empty(t, all)
}
