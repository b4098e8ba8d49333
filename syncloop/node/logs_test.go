package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// writes is a runtime that says that it writes logs into files.
type writes struct {
	*memory.Runtime
	reopen func() error
}

// Features implements runtime.FeatureReporter.
func (w writes) Features() runtime.Features {
	f := w.Runtime.Features()
	f.LogReopener = w
	return f
}

// ReopenContainerLog implements runtime.LogReopener.
func (w writes) ReopenContainerLog(context.Context, string) error { return w.reopen() }

// F95: the node rotates a log of a running container that is too large, if the runtime can reopen logs and the
// configuration allows it. The rotated logs are removed with the pod.
func TestNode_F95_LogsAreRotated(t *testing.T) {
	for _, c := range []struct {
		name     string
		mute     bool // the runtime is no runtime.LogReopener
		maxBytes int64
		maxFiles int
		want     []string
	}{
		{"rotated", false, 100, 3, []string{"0.log", "0.log.*"}},
		{"as in the kubelet", false, 0, 0, []string{"0.log"}},
		{"of any size", false, -1, 3, []string{"0.log"}},
		{"all in one", false, 100, -1, []string{"0.log"}},
		{"the runtime cannot", true, 100, 3, []string{"0.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, machine := disk{t, t.TempDir()}, memory.New(memory.Config{})
				config := d.nodeConfig(machine)
				config.Logs.MaxBytes, config.Logs.MaxFiles = c.maxBytes, c.maxFiles
				path := filepath.Join(d.top, "logs", "default_web_web", "c", "0.log")
				if !c.mute {
					config.Runtime = writes{machine, func() error {
						f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND, 0o600)
						return errors.Join(err, f.Close())
					}}
				}
				n := runConfig(t, config)
				require.NoError(t, n.Apply(withVolume(newPod("web", "serve"))))
				time.Sleep(time.Second) // Otherwise there would be an attempt before the first (KC-2).
				d.writeLog("web", "0.log")
				require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600))
				time.Sleep(time.Minute)
				var names []string
				for _, name := range d.listNames("logs/default_web_web/c") {
					if strings.HasPrefix(name, "0.log.") {
						name = "0.log.*"
					}
					names = append(names, name)
				}
				assert.Equal(t, c.want, names)
				n.Delete("web")
				time.Sleep(time.Minute)
				assert.Empty(t, d.listNames("logs"))
				require.NoError(t, n.stopNode())
			})
		})
	}
	_, err := node.New(node.Config{Logs: node.LogsConfig{MaxFiles: 1}})
	require.EqualError(t, err, "node: Config.Logs.MaxFiles is 1; the minimum is 2, the current file and a rotated one")
}

// reconnecting is a runtime that can reopen logs only after it has reconnected.
type reconnecting struct {
	writes
	connected *atomic.Bool
}

// Features implements runtime.FeatureReporter.
func (r reconnecting) Features() runtime.Features {
	if r.connected.Load() {
		return r.writes.Features()
	}
	return r.Runtime.Features()
}

// F95: logs are rotated as soon as the runtime can reopen them, also if it could not when the node was made.
func TestNode_F95_LogsAreRotatedAfterARuntimeReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, machine, connected := disk{t, t.TempDir()}, memory.New(memory.Config{}), new(atomic.Bool)
		config := d.nodeConfig(machine)
		config.Logs.MaxBytes, config.Logs.MaxFiles = 100, 3
		path := filepath.Join(d.top, "logs", "default_web_web", "c", "0.log")
		config.Runtime = reconnecting{writes{machine, func() error {
			f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND, 0o600)
			return errors.Join(err, f.Close())
		}}, connected}
		n := runConfig(t, config)
		require.NoError(t, n.Apply(withVolume(newPod("web", "serve"))))
		time.Sleep(time.Second) // Otherwise there would be an attempt before the first (KC-2).
		d.writeLog("web", "0.log")
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600))
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"0.log"}, d.listNames("logs/default_web_web/c"), "the runtime cannot reopen logs")
		connected.Store(true)
		time.Sleep(time.Minute)
		assert.Len(t, d.listNames("logs/default_web_web/c"), 2, "the runtime can reopen logs")
		require.NoError(t, n.stopNode())
	})
}
