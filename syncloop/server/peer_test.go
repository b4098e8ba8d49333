package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
	"github.com/podkeel/podkeel/syncloop/server"
)

// peer records its calls.
type peer []string

func (p *peer) Unknown()  { *p = append(*p, "unknown") }
func (p *peer) Accepted() { *p = append(*p, "accepted") }

// TestAccess_Peer: the connection of a client is worth something only when the client may do
// what it asks for. Asking for the health is nothing.
func TestAccess_Peer(t *testing.T) {
	h := serve(t)
	h.allowed = func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Subresource == "pods", nil }
	handler, err := server.New(h.config)
	require.NoError(t, err)
	for request, want := range map[string]peer{
		"/healthz nobody": {"unknown"}, "/pods nobody": {"unknown"}, "/pods broken": {"unknown"}, "/metrics alice": {"unknown"},
		"/pods alice": {"unknown", "accepted"},
	} {
		var told peer
		path, token, _ := strings.Cut(request, " ")
		r := httptest.NewRequestWithContext(respond.WithPeer(t.Context(), &told), http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, want, told, request)
	}
}
