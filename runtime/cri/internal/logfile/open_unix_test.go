//go:build unix

package logfile_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime/cri/internal/logfile"
)

func TestRead_OpensNothingElse(t *testing.T) {
	dir := t.TempDir()
	secret := written(t, line("secret"))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	for _, name := range []string{"link", "pipe", "dir"} {
		for _, follow := range []bool{false, true} {
			var out bytes.Buffer
			err := logfile.Read(t.Context(), logfile.Request{Path: filepath.Join(dir, name), Follow: follow, HasExited: always(true), Executor: executor.Over(nil)}, &out)
			require.ErrorIs(t, err, logfile.ErrNotRegular, name)
			assert.Zero(t, out.Len())
		}
	}
	err := logfile.Read(t.Context(), logfile.Request{Path: filepath.Join(dir, "none"), HasExited: always(true), Executor: executor.Over(nil)}, io.Discard)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
