package lint

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTree_NoLargeFile finds programs that were built within the tree: a program that is committed once stays in every
// clone for good.
func TestTree_NoLargeFile(t *testing.T) {
	const limit = 1 << 20
	seen := 0
	require.NoError(t, filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		seen++
		info, err := entry.Info()
		if err == nil {
			assert.LessOrEqual(t, info.Size(), int64(limit), "%s", name)
		}
		return err
	}))
	assert.Greater(t, seen, 500, "the walk itself is broken")
}
