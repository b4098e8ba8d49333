package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	connectTimeout   = 10 * time.Second
	answerTimeout    = 30 * time.Second
	heartbeatTimeout = 10 * time.Second
	pingAfter        = 15 * time.Second
	pingTimeout      = 10 * time.Second
	idleCloseDelay   = time.Second

	maxHeaderBytes = 1 << 20
	// maxResponseBytes bounds the decompressed size of a response. For a watch, each event has its own bound.
	maxResponseBytes = 64 << 20
)

// errResponseTooLarge is returned when a response exceeds maxResponseBytes.
var errResponseTooLarge = fmt.Errorf("client: the server responded with more than %d bytes", maxResponseBytes)

// limitedBody is a response body with a size limit.
type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errResponseTooLarge
	}
	return n, err
}

// connections holds a pool that is replaced when one of its connections has failed. Otherwise a dead connection would
// get new calls until a ping detects the failure.
type connections struct {
	current      atomic.Pointer[pool]
	files        *certFiles // nil: no certificate files
	token        *tokenFile // nil: no token file
	newPool      func() *pool
	requestCount atomic.Int64 // number of requests
}

// pool is an HTTP transport. Until it has a connection, only one call at a time tries to open one. Otherwise each of
// many concurrent calls would open its own, although HTTP/2 needs only one.
type pool struct {
	*http.Transport
	openLock      chan struct{} // held by the call that opens the connection
	hasConnection atomic.Bool
}

// sendWithOneDial sends a request, and reports whether the request got a connection. While the pool has no connection,
// only one request at a time opens one, and the others wait. A canceled request stops waiting.
func (p *pool) sendWithOneDial(r *http.Request) (answer *http.Response, connected bool, err error) {
	release := func() {}
	if !p.hasConnection.Load() {
		select {
		case p.openLock <- struct{}{}:
		case <-r.Context().Done():
			return nil, false, r.Context().Err()
		}
		release = sync.OnceFunc(func() { <-p.openLock })
		defer release()
		if p.hasConnection.Load() {
			release()
		}
	}
	var got atomic.Bool
	answer, err = p.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			got.Store(true)
			p.hasConnection.Store(true)
			release()
		},
	})))
	return answer, got.Load(), err
}

// newConnections returns a connection pool with the TLS files, proxy and dialer of a configuration.
// responseTimeout is how long a request waits for the response header.
func newConnections(cfg *rest.Config, token *tokenFile, responseTimeout time.Duration) (*connections, error) {
	settings, err := cfg.TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	secure, err := transport.TLSConfigFor(settings)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	dial := (&net.Dialer{Timeout: connectTimeout, KeepAlive: pingAfter}).DialContext
	if settings.DialHolder != nil {
		dial = settings.DialHolder.Dial
	}
	proxy := http.ProxyFromEnvironment
	if cfg.Proxy != nil {
		proxy = cfg.Proxy
	}
	certificates := newCertAndCAFilesIfAnyReadable(cfg, settings)
	c := &connections{files: certificates, token: token, newPool: func() *pool {
		t := &http.Transport{
			Proxy: proxy, DialContext: dial, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: responseTimeout,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
			MaxResponseHeaderBytes: maxHeaderBytes,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		}
		t.TLSClientConfig = certificates.tlsConfigWithFiles(secure)
		return &pool{Transport: t, openLock: make(chan struct{}, 1)}
	}}
	c.current.Store(c.newPool())
	return c, nil
}

// newHTTPClient returns an HTTP client over these connections, with the credentials of the configuration. It
// follows no redirects, because a redirect could send the credentials to another server.
func (c *connections) newHTTPClient(cfg *rest.Config) (*http.Client, error) {
	settings, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	var over http.RoundTripper = c
	if c.token != nil && !settings.HasBasicAuth() { // HTTPWrappersForConfig refuses both.
		settings.BearerToken, settings.BearerTokenFile = "", ""
		over = &tokenTransport{c.token, c}
	}
	wrapped, err := transport.HTTPWrappersForConfig(settings, over)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: wrapped, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // A redirect could send the credentials to another server.
	}}, nil
}

// RoundTrip implements http.RoundTripper. It replaces the pool if the TLS files have changed, and after a
// failure of a request that had a connection and was not canceled. It limits the size of a response that is no
// watch.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requestCount.Add(1)
	p := c.current.Load()
	if c.files.reloadIfDueAndChanged() { // New connections use the new certificate.
		c.replacePoolIfCurrent(p)
		p = c.current.Load()
	}
	answer, connected, err := p.sendWithOneDial(r)
	if err != nil && connected && !errors.Is(r.Context().Err(), context.Canceled) {
		c.replacePoolIfCurrent(p)
	}
	if err == nil && r.URL.Query().Get("watch") != "true" {
		answer.Body = &limitedBody{answer.Body, maxResponseBytes}
	}
	return answer, err
}

// replacePoolIfCurrent makes new requests use a new pool, and closes the idle connections of the failed pool
// now and again after idleCloseDelay. It does nothing if another call has replaced the failed pool.
func (c *connections) replacePoolIfCurrent(failed *pool) {
	if c.current.CompareAndSwap(failed, c.newPool()) {
		failed.CloseIdleConnections()
		time.AfterFunc(idleCloseDelay, failed.CloseIdleConnections) // The connection of a failed stream is still in use now.
	}
}
