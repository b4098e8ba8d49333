package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/localapi"
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
