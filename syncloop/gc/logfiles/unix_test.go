//go:build unix

package logfiles_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// A FIFO in the place of any directory or file is not opened, which would hang this
// test.
func TestDir_FIFOInItsPlace(t *testing.T) {
	for _, at := range []string{"logs", "logs/ns_web_u1", "logs/ns_web_u1/c", "logs/ns_web_u1/c/0.log"} {
		t.Run(at, func(t *testing.T) {
			d, top := logs(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, at)), 0o755))
			require.NoError(t, syscall.Mkfifo(filepath.Join(top, at), 0o600))
			log := logfiles.Log{Pod: web, Container: "c"}
			_, err := d.Due(log, 1)
			require.Error(t, err)
			reopen := func(context.Context) error { t.Error("it is no log"); return nil }
			require.Error(t, d.Rotate(t.Context(), log, limits, now, reopen))
			_, err = d.NextAttempt(web, "c")
			require.NoError(t, err)
			require.NoError(t, d.RemoveAttempts(web, "c", []uint32{1}))
			_, err = d.Pods(func(types.UID) bool { return true }, 10)
			require.NoError(t, err)
			_ = d.SetUp(web)
			require.NoError(t, d.Remove(t.Context(), "u1", all))
			assert.NoDirExists(t, filepath.Join(top, "logs/ns_web_u1"))
		})
	}
}

// SetUp makes a directory in the place of a planted link, to another directory, to another pod's logs or to
// nothing, and removes links in the place of containers' directories. Removals leave alone what the links led to.
func TestSetUp_PlantedLinks(t *testing.T) {
	for _, target := range []string{"../away", "ns_db_u2", "nowhere"} {
		for _, at := range []string{"logs/ns_web_u1", "logs/ns_web_u1/c"} {
			t.Run(at+" to "+target, func(t *testing.T) {
				d, top := logs(t, "away/c/0.log", "logs/ns_db_u2/c/0.log")
				others := tree(t, top)
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, at)), 0o755))
				require.NoError(t, os.Symlink(target, filepath.Join(top, at)))
				require.NoError(t, d.SetUp(web))
				dir, err := d.LogDir(web)
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "c"), 0o755)) // As a runtime does.
				require.NoError(t, os.WriteFile(filepath.Join(dir, "c/0.log"), []byte("line"), 0o600))
				assert.Equal(t, append(others, "logs/ns_web_u1/c/0.log"), tree(t, top))
				next, err := d.NextAttempt(web, "c")
				require.NoError(t, err)
				assert.Equal(t, uint32(1), next)
				require.NoError(t, d.SetUp(web))
				require.NoError(t, d.Remove(t.Context(), "u1", all))
				assert.Equal(t, others, tree(t, top))
			})
		}
	}
}

// A FIFO in the place of a pod's directory is an error, which names it.
func TestSetUp_FIFOInItsPlace(t *testing.T) {
	d, top := logs(t, "logs/ns_db_u2/c/0.log")
	require.NoError(t, syscall.Mkfifo(filepath.Join(top, "logs/ns_web_u1"), 0o600))
	assert.ErrorIs(t, d.SetUp(web), osfile.ErrNotDirectory)
}
