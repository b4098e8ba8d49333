//go:build unix

package checkpoint_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/checkpoint"
)

// A FIFO at the place of a file or of the directory is not opened; opening it would hang this test.
func TestNew_FIFO(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "u.json"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, ".u"), 0o600))
	d, log := openDirAndLog(t, root)
	assert.Equal(t, `msg="cannot read a file with a terminal status; it is ignored" file=u.json err="not a regular file: a FIFO"`+"\n", log)
	p := newPod("web")
	p.UID = "u"
	require.NoError(t, d.Save(p, evictedStatus("")), "it takes the place of what is there")
	assert.Equal(t, []string{"u.json"}, fileNames(t, root))

	at := filepath.Join(t.TempDir(), "ended")
	require.NoError(t, syscall.Mkfifo(at, 0o600))
	_, err := checkpoint.New(checkpoint.Config{Root: at})
	assert.ErrorContains(t, err, "not a directory")
}
