package clusterlab_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// gate stands between a node and its API server. It is an HTTP proxy with a certificate of its
// own, through which the trouble comes that a server can be in for one node only.
type gate struct {
	*httptest.Server

	mu      sync.Mutex
	tokens  map[string]string // token of a request -> token that the server gets
	trouble trouble
	strange *tls.Certificate // shown instead of the gate's own; nil: none
}

// trouble answers a request instead of the server, or delays it; false lets it pass.
type trouble func(w http.ResponseWriter, r *http.Request) (answered bool)

// newGate opens a gate before a server until the end of the test.
func newGate(t *testing.T, c *clusterlab.Cluster) *gate {
	server, err := url.Parse(c.URL())
	require.NoError(t, err)
	transport, err := rest.TransportFor(&rest.Config{Host: c.URL(), TLSClientConfig: rest.TLSClientConfig{CAFile: c.Rest("").CAFile}})
	require.NoError(t, err)
	silent := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport: transport, FlushInterval: -1, ErrorLog: silent,
	}
	g := &gate{tokens: map[string]string{}}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		trouble, token := g.trouble, g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		g.mu.Unlock()
		r.Header.Set("Authorization", "Bearer "+token)
		if trouble == nil || !trouble(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	g.EnableHTTP2, g.Config.ErrorLog = true, silent
	g.TLS = &tls.Config{GetConfigForClient: g.tlsConfig}
	g.StartTLS()
	t.Cleanup(func() {
		g.setTrouble(nil)
		g.Close()
	})
	return g
}

// tlsConfig returns the TLS configuration of a connection. Nil is the configuration of the gate.
func (g *gate) tlsConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.strange == nil {
		return nil, nil
	}
	return &tls.Config{Certificates: []tls.Certificate{*g.strange}, NextProtos: g.TLS.NextProtos}, nil
}

// setTrouble makes a fault affect all new requests, and closes all connections, so that older requests do not continue.
func (g *gate) setTrouble(trouble trouble) {
	g.changeAndDisconnect(func() { g.trouble = trouble })
}

// changeAndDisconnect changes the gate and closes all connections.
func (g *gate) changeAndDisconnect(what func()) {
	g.mu.Lock()
	what()
	g.mu.Unlock()
	g.CloseClientConnections()
}

// writeError writes an error of the API, with Retry-After if the error asks for a delay.
func writeError(w http.ResponseWriter, err *apierrors.StatusError) bool {
	w.Header().Set("Content-Type", "application/json")
	if d := err.ErrStatus.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(int(err.ErrStatus.Code))
	status := err.ErrStatus
	status.APIVersion, status.Kind = "v1", "Status"
	_ = json.NewEncoder(w).Encode(status) // The client says what it has got.
	return true
}

// delayRequests returns a trouble that delays each request by d.
func delayRequests(d time.Duration) trouble {
	return func(_ http.ResponseWriter, r *http.Request) bool {
		sleepContext(r.Context(), d)
		return false
	}
}

// isWatch reports whether a request is a watch.
func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// TestGate: the server answers a request without a fault, and does not answer a request with a fault.
func TestGate(t *testing.T) {
	c := startLab(t, clusterlab.Config{Nodes: []string{"n1", "nobody"}})
	g := newGate(t, c)
	g.tokens["secret"] = "n1-token"
	cfg := &rest.Config{Host: g.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAData: certificatePEM(g.Certificate())}}
	server, err := client.New(cfg, "n1")
	require.NoError(t, err)
	t.Cleanup(server.Reconnect)
	becomes := func(what string, call func() error, ok func(error) bool) { // The connections that end are one answer, or several.
		t.Helper()
		var err error
		for range 20 {
			if err = call(); ok(err) {
				return
			}
		}
		assert.Fail(t, what, "%v", err)
	}
	none := func(err error) bool { return err == nil }
	list := func() error {
		_, err := server.PodFeed().List(t.Context(), "")
		return err
	}
	becomes("answered", list, none)
	g.changeAndDisconnect(func() { g.tokens["secret"] = "none" })
	becomes("401", list, apierrors.IsUnauthorized)
	g.changeAndDisconnect(func() { g.tokens["secret"] = "nobody-token" })
	becomes("403", list, apierrors.IsForbidden)
	g.changeAndDisconnect(func() { g.tokens["secret"] = "n1-token" })
	g.setTrouble(func(w http.ResponseWriter, _ *http.Request) bool {
		return writeError(w, apierrors.NewTooManyRequests("busy", 1))
	})
	becomes("429", list, apierrors.IsTooManyRequests)
	g.setTrouble(func(w http.ResponseWriter, r *http.Request) bool {
		return isWatch(r) && writeError(w, apierrors.NewResourceExpired("too old"))
	})
	becomes("a list", list, none)
	becomes("410", func() error {
		_, err := server.PodFeed().Watch(t.Context(), apiserver.WatchOptions{SendInitialEvents: true})
		return err
	}, apierrors.IsResourceExpired)
	g.setTrouble(nil)
	strange := selfSigned(t)
	g.changeAndDisconnect(func() { g.strange = &strange })
	becomes("refused by the client", list, func(err error) bool { return err != nil && strings.Contains(err.Error(), "certificate") })
	g.changeAndDisconnect(func() { g.strange = nil })
	becomes("answered again", list, none)
	g.setTrouble(delayRequests(300 * time.Millisecond))
	becomes("answered", list, none)
	began := time.Now()
	require.NoError(t, list())
	assert.Greater(t, time.Since(began), 300*time.Millisecond)
}
