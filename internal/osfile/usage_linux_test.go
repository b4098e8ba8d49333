package osfile_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/osfile"
)

// stepContext calls step each time a walk asks whether it has ended. It has ended when step returns false.
type stepContext struct {
	context.Context
	step func() bool
}

func (c stepContext) Err() error {
	if c.step() {
		return nil
	}
	return context.Canceled
}

// deepTree makes directories below root, each in the one before, and a file of 64 KiB in the deepest one. The names
// together are longer than a path may be.
func deepTree(t *testing.T, root string, depth int) (name string) {
	t.Helper()
	name = strings.Repeat("d", 200)
	dir, err := os.OpenRoot(root)
	require.NoError(t, err)
	for range depth {
		require.NoError(t, dir.Mkdir(name, 0o755))
		child, err := dir.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, dir.Close())
		dir = child
	}
	require.NoError(t, dir.WriteFile("large", make([]byte, 64<<10), 0o600))
	require.NoError(t, dir.Close())
	return name
}

// TestUsageWalk_Deep: a file below a path that is longer than the system allows counts, and a file after the deep
// directory in each parent counts too.
func TestUsageWalk_Deep(t *testing.T) {
	root := t.TempDir()
	deepTree(t, root, 100)
	for i := range 300 { // More than one read of the directory.
		require.NoError(t, os.WriteFile(filepath.Join(root, "f"+strconv.Itoa(i)), nil, 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(root, "d"+strconv.Itoa(i)), 0o755))
	}
	var walk osfile.UsageWalk
	usage, err := walk.Measure(t.Context(), root)
	require.NoError(t, err)
	assert.EqualValues(t, 1+100+1+600, usage.Inodes)
	assert.GreaterOrEqual(t, usage.Bytes, uint64(64<<10))
}

// TestUsageWalk_LinksCountOnce: a file with two names counts once in all trees of a walk. A symbolic link is not
// followed, also as the root. A root that does not exist occupies nothing.
func TestUsageWalk_LinksCountOnce(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	file := filepath.Join(a, "file")
	require.NoError(t, os.WriteFile(file, make([]byte, 64<<10), 0o600))
	require.NoError(t, os.Link(file, filepath.Join(a, "again")))
	require.NoError(t, os.Link(file, filepath.Join(b, "again")))
	require.NoError(t, os.Symlink(a, filepath.Join(b, "link")))
	var walk osfile.UsageWalk
	for root, inodes := range map[string]uint64{filepath.Join(b, "link"): 1, filepath.Join(a, "absent"): 0} {
		usage, err := walk.Measure(t.Context(), root)
		require.NoError(t, err)
		assert.Equal(t, inodes, usage.Inodes, root)
	}
	first, err := walk.Measure(t.Context(), a)
	require.NoError(t, err)
	assert.EqualValues(t, 2, first.Inodes)
	assert.GreaterOrEqual(t, first.Bytes, uint64(64<<10))
	second, err := walk.Measure(t.Context(), b)
	require.NoError(t, err)
	assert.EqualValues(t, 2, second.Inodes)
	assert.Less(t, second.Bytes, uint64(64<<10))
}

// TestUsageWalk_ManyLinks: a walk that remembers too many files with several links counts a share of each further link,
// so the sum is a lower bound.
func TestUsageWalk_ManyLinks(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a")
	require.NoError(t, os.WriteFile(file, make([]byte, 64<<10), 0o600))
	for _, name := range []string{"b", "c", "d"} {
		require.NoError(t, os.Link(file, filepath.Join(root, name)))
	}
	var one osfile.UsageWalk
	exact, err := one.Measure(t.Context(), root)
	require.NoError(t, err)
	full := osfile.FullUsageWalk()
	usage, err := full.Measure(t.Context(), root)
	require.ErrorContains(t, err, "too many files with several hard links")
	assert.Equal(t, exact.Bytes, usage.Bytes)
	require.NoError(t, os.Remove(filepath.Join(root, "b")))
	require.NoError(t, os.Rename(filepath.Join(root, "c"), filepath.Join(t.TempDir(), "c")))
	usage, err = full.Measure(t.Context(), root)
	require.Error(t, err)
	assert.Less(t, usage.Bytes, exact.Bytes)
	assert.Greater(t, usage.Bytes, exact.Bytes/2)
}

// TestUsageWalk_EndsWithContext: the files that were counted before the end of the context are a lower bound.
func TestUsageWalk_EndsWithContext(t *testing.T) {
	root := t.TempDir()
	deepTree(t, root, 5)
	steps := 0
	var walk osfile.UsageWalk
	usage, err := walk.Measure(stepContext{t.Context(), func() bool { steps++; return steps <= 3 }}, root)
	require.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 4, usage.Inodes)
}

// TestUsageWalk_MovedDirectory: a directory that is moved during the walk does not lead the walk out of the tree. The
// result is a lower bound.
func TestUsageWalk_MovedDirectory(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	name := deepTree(t, root, 60)
	for range 10 {
		root = filepath.Join(root, name) // A path that the system allows.
	}
	steps := 0
	var walk osfile.UsageWalk
	start := root
	moved := func() bool {
		if steps++; steps == 50 { // Now the deepest directories are open.
			dir, err := os.OpenRoot(start)
			require.NoError(t, err)
			defer dir.Close()
			for range 34 {
				child, err := dir.OpenRoot(name)
				require.NoError(t, err)
				require.NoError(t, dir.Close())
				dir = child
			}
			moveOut(t, dir, name, outside)
		}
		return true
	}
	usage, err := walk.Measure(stepContext{t.Context(), moved}, start)
	require.ErrorContains(t, err, "a directory was moved while its tree was measured")
	assert.EqualValues(t, 1+50+1, usage.Inodes)
}

// moveOut moves a directory of dir to another directory.
func moveOut(t *testing.T, dir *os.Root, name, to string) {
	t.Helper()
	opened, err := dir.Open(".")
	require.NoError(t, err)
	defer opened.Close()
	require.NoError(t, osfile.RenameAt(int(opened.Fd()), name, filepath.Join(to, "moved")))
}
