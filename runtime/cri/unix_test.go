//go:build unix

package cri_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/cri"
)

// A FIFO in the place of an owner's file is not opened, which would hang this test.
func TestOwnerFile_FIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "owner")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := cri.OwnerFile(filepath.Dir(path))
	assert.EqualError(t, err, "cri: "+path+": not a regular file: a FIFO")
}
