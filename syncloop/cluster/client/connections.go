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
	lingering        = time.Second

	longestHeader = 1 << 20
	// longestAnswer bounds an answer, in bytes after expansion. A watch has a bound for each
	// event.
	longestAnswer = 64 << 20
)

// errTooLong is an answer that is read no further.
var errTooLong = fmt.Errorf("client: the server answers with more than %d bytes", longestAnswer)

// bounded is the body of an answer.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// connections is a pool that is replaced when one of its connections has failed: a
// connection that is dead and in use would get new calls until a ping finds out.
type connections struct {
	current atomic.Pointer[pool]
	files   *files     // nil: the certificate is in no file
	token   *tokenFile // nil: the bearer token is in no file
	open    func() *pool
	sent    atomic.Int64 // requests
}

// pool has no connection at first. One call at a time tries to open one; or each of a crowd
// would, where all go over one.
type pool struct {
	*http.Transport
	opening chan struct{} // held by the call that tries
	opened  atomic.Bool
}

// do sends a request, and reports whether it had a connection.
func (p *pool) do(r *http.Request) (answer *http.Response, connected bool, err error) {
	release := func() {}
	if !p.opened.Load() {
		select {
		case p.opening <- struct{}{}:
		case <-r.Context().Done():
			return nil, false, r.Context().Err()
		}
		release = sync.OnceFunc(func() { <-p.opening })
		defer release()
		if p.opened.Load() {
			release()
		}
	}
	var got atomic.Bool
	answer, err = p.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			got.Store(true)
			p.opened.Store(true)
			release()
		},
	})))
	return answer, got.Load(), err
}

// connect prepares a pool. An answer begins within the given time.
func connect(cfg *rest.Config, token *tokenFile, answer time.Duration) (*connections, error) {
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
	certificates := newFiles(cfg, settings)
	c := &connections{files: certificates, token: token, open: func() *pool {
		t := &http.Transport{
			Proxy: proxy, DialContext: dial, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: answer,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
			MaxResponseHeaderBytes: longestHeader,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		}
		t.TLSClientConfig = certificates.secure(secure)
		return &pool{Transport: t, opening: make(chan struct{}, 1)}
	}}
	c.current.Store(c.open())
	return c, nil
}

// client is an HTTP client over the pool, with the credentials of the configuration.
func (c *connections) client(cfg *rest.Config) (*http.Client, error) {
	settings, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	var over http.RoundTripper = c
	if c.token != nil && !settings.HasBasicAuth() { // Both at once are refused below.
		settings.BearerToken, settings.BearerTokenFile = "", ""
		over = &bearer{c.token, c}
	}
	wrapped, err := transport.HTTPWrappersForConfig(settings, over)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: wrapped, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // Or another server would get the credentials.
	}}, nil
}

// RoundTrip implements http.RoundTripper. A call that got no connection says nothing of
// those that there are.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	p := c.current.Load()
	if c.files.changed() { // A new connection has the new certificate.
		c.renew(p)
		p = c.current.Load()
	}
	answer, connected, err := p.do(r)
	if err != nil && connected && !errors.Is(r.Context().Err(), context.Canceled) {
		c.renew(p)
	}
	if err == nil && r.URL.Query().Get("watch") != "true" {
		answer.Body = &bounded{answer.Body, longestAnswer}
	}
	return answer, err
}

// renew replaces the pool, unless another call has done so.
func (c *connections) renew(failed *pool) {
	if c.current.CompareAndSwap(failed, c.open()) {
		failed.CloseIdleConnections()
		time.AfterFunc(lingering, failed.CloseIdleConnections) // That of a stream that has failed is still in use.
	}
}
