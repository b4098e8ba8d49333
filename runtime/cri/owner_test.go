package cri_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/cri"
)

func TestOwnerFile(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	owner, err := cri.OwnerFile(dir)
	require.NoError(t, err)
	again, err := cri.OwnerFile(dir)
	require.NoError(t, err)
	assert.Equal(t, owner, again)
	different, err := cri.OwnerFile(other)
	require.NoError(t, err)
	assert.NotEqual(t, owner, different)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	info, err := entries[0].Info()
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestOwnerFile_AtOnce(t *testing.T) {
	dir := t.TempDir()
	owners := make([]string, 8)
	var all sync.WaitGroup
	for i := range owners {
		all.Go(func() {
			var err error
			owners[i], err = cri.OwnerFile(dir)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, owner := range owners {
		assert.Equal(t, owners[0], owner)
	}
}

// An invalid owner file is never replaced: its owner may have pods.
func TestOwnerFile_Broken(t *testing.T) {
	for _, text := range []string{"", "two words", "x/y", "ABCDEFGHIJKLM", "0123456789012345678901234567890123456789012345678901234567890123456789"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "owner"), []byte(text), 0o600))
		_, err := cri.OwnerFile(dir)
		require.Error(t, err, text)
		after, err := os.ReadFile(filepath.Join(dir, "owner"))
		require.NoError(t, err)
		assert.Equal(t, text, string(after))
	}
	_, err := cri.OwnerFile(filepath.Join(t.TempDir(), "none"))
	assert.Error(t, err)
}
