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
