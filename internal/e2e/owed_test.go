//go:build linux

package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/e2e"
)

// No CRI call stops a sandbox whose shim hangs. TestRestart kills its shim and starts containerd again, which stops it.
func TestOwed(t *testing.T) {
	skipUnlessLong(t)
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			s := newScene(t, e2e.Start(t, version), &e2e.Agent{})
			require.NoError(t, s.startContainer(s.bareJob(t.TempDir())))
			all, err := listRecords(s.cri)
			require.NoError(t, err)
			require.Len(t, all.sandboxes, 1)
			id := all.sandboxes[0].Id
			require.True(t, s.c.SignalShim(id, syscall.SIGSTOP))
			require.Error(t, removeSandbox(t.Context(), s.cri, id, 5*time.Second))
			require.True(t, s.c.SignalShim(id, syscall.SIGKILL))
			s.c.Kill()
			s.c.Restart()
			require.NoError(t, removeSandbox(t.Context(), s.cri, id, soon))
			all, err = listRecords(s.cri)
			require.NoError(t, err)
			assert.Empty(t, all.sandboxes)
			assert.Empty(t, all.containers)
		})
	}
}
