package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// TestLeavesCreated: an agent that takes no created pods does not start where there are some.
func TestLeavesCreated(t *testing.T) {
	o := defaults()
	o.manifests, o.listen, o.stateDir = t.TempDir(), "", t.TempDir()
	dir := filepath.Join(o.stateDir, createdDir)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "uid.json"), nil, 0o600))
	_, err := newAgent(o, io.Discard, io.Discard)
	require.EqualError(t, err, "1 pods that were created by the Kubernetes API would end, and lose their volumes: start with --write-kubeconfig and --api-write, or remove "+dir)
}

// TestListenAPI: the port is the same for a token, unless it is taken.
func TestListenAPI(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	first, err := listenAPI(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	usual := first.Addr().String()
	second, err := listenAPI(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	require.Contains(t, text.String(), "the usual port of the Kubernetes API cannot be used")
	text.Reset()
	require.NotEqual(t, usual, second.Addr().String())
	require.NoError(t, first.Close())
	again, err := listenAPI(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	require.Equal(t, usual, again.Addr().String())
	other, err := listenAPI(second.Addr().String(), "secret", log)
	require.Error(t, err, "it is taken")
	require.Nil(t, other)
	require.Empty(t, text.String())
	require.NoError(t, errors.Join(again.Close(), second.Close()))
}

// TestWriteKubeconfig: an agent that would destroy another file does not start.
func TestWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	o := defaults()
	o.manifests, o.listen, o.stateDir = t.TempDir(), "", dir
	o.api.kubeconfig, o.api.listen = filepath.Join(dir, "config"), defaultAPIListen
	require.NoError(t, os.WriteFile(o.api.kubeconfig, []byte("clusters: [{name: kind}]\n"), 0o600))
	_, err := newAgent(o, io.Discard, io.Discard)
	require.ErrorIs(t, err, localapi.ErrForeignFile)
	text, err := os.ReadFile(o.api.kubeconfig)
	require.NoError(t, err)
	require.Equal(t, "clusters: [{name: kind}]\n", string(text))
}

// mute is a runtime that answers with an error, or with a status.
type mute struct {
	runtime.Runtime
	status runtime.RuntimeStatus
	err    error
}

func (m *mute) RuntimeStatus(context.Context) (runtime.RuntimeStatus, error) { return m.status, m.err }

// TestRuntimeHealth: a node is not ready when its runtime has been silent for 30 s, or says so.
func TestRuntimeHealth(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rt := &mute{err: runtime.ErrNotReady}
	ask := runtimeHealth(rt, func() time.Time { return now })
	ready := func() string {
		seen, status := ask(t.Context())
		c := nodestatus.Ready(nodestatus.Facts{Now: now, RuntimeSeen: seen, Runtime: status})
		return string(c.Status) + " " + c.Message
	}
	now = now.Add(30 * time.Second)
	require.Equal(t, "True kubelet is posting ready status", ready())
	now = now.Add(time.Second)
	require.Equal(t, "False container runtime is down", ready())
	rt.status, rt.err = runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no CNI"}, nil
	require.Equal(t, "False no CNI", ready())
	rt.status.NetworkReady = true
	require.Equal(t, "True kubelet is posting ready status", ready())
	now = now.Add(time.Hour)
	ask = runtimeHealth(nil, func() time.Time { return now })
	require.Equal(t, "True kubelet is posting ready status", ready())
}
