package hookhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/podworkers/podsync"
)

const (
	// DefaultUserAgent is the default of Config.UserAgent.
	DefaultUserAgent = "kube-lifecycle/podkeel"
	// maxBodyBytes bounds the bytes of a body that are read.
	maxBodyBytes = 10 << 10
)

// Config has the settings of a Getter. The zero value is valid.
type Config struct {
	// UserAgent is the User-Agent header of requests that do not set one. Empty is DefaultUserAgent.
	UserAgent string
	// DialContext opens connections. Nil is the DialContext of a net.Dialer. Set it if the pods are in
	// another network namespace.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Getter is a podsync.HTTPGetter. It may be used concurrently, and has no open connections between
// requests.
type Getter struct {
	cfg    Config
	client http.Client
}

var _ podsync.HTTPGetter = (*Getter)(nil)

// New returns a Getter. It starts nothing, and every Config is valid.
func New(cfg Config) *Getter {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	return &Getter{cfg: cfg, client: http.Client{
		CheckRedirect: podhttp.RedirectWithinHost(http.ErrUseLastResponse),
		Transport:     podhttp.Transport(podhttp.Dialer(cfg.DialContext)),
	}}
}

// Get implements podsync.HTTPGetter. It is called concurrently, and returns when ctx ends at the
// latest.
func (g *Getter) Get(ctx context.Context, url string, header http.Header) error {
	req, err := g.newRequest(ctx, url, header)
	if err != nil {
		return err
	}
	err = g.sendAndDiscardPartOfBody(req)
	if req.URL.Scheme == "https" && errors.Is(err, http.ErrSchemeMismatch) {
		plain := req.Clone(ctx)
		plain.URL.Scheme = "http"
		plain.Header.Del("Authorization")
		err = g.sendAndDiscardPartOfBody(plain)
	}
	return err
}

// newRequest returns a GET request with the headers. A Host header becomes the host of the request, and does
// not change the address in url. Without a User-Agent header it sets Config.UserAgent.
func (g *Getter) newRequest(ctx context.Context, url string, header http.Header) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("hookhttp: %w", err)
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = append([]string(nil), values...)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	req.Header.Del("Host")
	if _, given := req.Header["User-Agent"]; !given {
		req.Header.Set("User-Agent", g.cfg.UserAgent)
	}
	return req, nil
}

// sendAndDiscardPartOfBody sends a request and returns an error if no response arrives. It reads and discards a
// part of the body, so that a server with a short body can finish. It ignores errors of this read.
func (g *Getter) sendAndDiscardPartOfBody(req *http.Request) error {
	response, err := g.client.Do(req)
	if err != nil {
		return fmt.Errorf("hookhttp: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBodyBytes))
	return nil
}
