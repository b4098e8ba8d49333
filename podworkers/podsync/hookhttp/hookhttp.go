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
	// DefaultUserAgent is what requests call themselves.
	DefaultUserAgent = "kube-lifecycle/podkeel"
	// bodyLimit is how many bytes of a body are read.
	bodyLimit = 10 << 10
)

// Config is what New needs. Its zero value will do.
type Config struct {
	// UserAgent is what requests call themselves that do not say otherwise;
	// empty is DefaultUserAgent.
	UserAgent string
	// DialContext makes connections; nil is a net.Dialer's. A program whose
	// pods live in another network namespace puts its own here.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Getter is a podsync.HTTPGetter. It may be used concurrently, and holds no
// connections between requests.
type Getter struct {
	cfg    Config
	client http.Client
}

var _ podsync.HTTPGetter = (*Getter)(nil)

// New makes a Getter. It starts nothing, and every Config will do.
func New(cfg Config) *Getter {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	return &Getter{cfg: cfg, client: http.Client{
		CheckRedirect: podhttp.RedirectWithinHost(http.ErrUseLastResponse),
		Transport:     podhttp.Transport(podhttp.Dialer(cfg.DialContext)),
	}}
}

// Get implements podsync.HTTPGetter. It is called concurrently, and returns at
// the end of ctx at the latest.
func (g *Getter) Get(ctx context.Context, url string, header http.Header) error {
	req, err := g.request(ctx, url, header)
	if err != nil {
		return err
	}
	err = g.do(req)
	if req.URL.Scheme == "https" && errors.Is(err, http.ErrSchemeMismatch) {
		plain := req.Clone(ctx)
		plain.URL.Scheme = "http"
		plain.Header.Del("Authorization")
		err = g.do(plain)
	}
	return err
}

// request is the request to make. A Host among the headers is the one that is
// asked for, at the address that the url names.
func (g *Getter) request(ctx context.Context, url string, header http.Header) (*http.Request, error) {
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

// do makes one request. A body is read a little, so that a server is not cut off
// in the middle of a few words; how that ends makes no difference.
func (g *Getter) do(req *http.Request) error {
	response, err := g.client.Do(req)
	if err != nil {
		return fmt.Errorf("hookhttp: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, bodyLimit))
	return nil
}
