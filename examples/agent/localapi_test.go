package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/localapi"
)

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
