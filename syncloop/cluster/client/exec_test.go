package client_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// TestClient_ExecPlugin: a kubeconfig may name a credential plug-in, a command that prints a token.
func TestClient_ExecPlugin(t *testing.T) {
	seen := make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.Error(w, "", http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q, tls-server-name: example.com, certificate-authority-data: %s}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: echo, args: [
  '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "printed"}}'
]}}}]}`, server.URL, base64.StdEncoding.EncodeToString(ca)), 0o600))
	c, err := client.FromKubeconfig(file, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	_, err = c.Nodes().Get(t.Context(), "n1")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.Equal(t, "Bearer printed", <-seen)
}
