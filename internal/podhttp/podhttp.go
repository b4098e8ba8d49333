package podhttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// MaxRedirects is how many redirects are followed at most.
const MaxRedirects = 10

// headerLimit bounds the header of a response, in bytes.
const headerLimit = 64 << 10

// DialContext opens a connection, as net.Dialer.DialContext does.
type DialContext func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer returns a DialContext whose connections linger for at most a second after they are closed, if the system
// supports that. A nil dial stands for a net.Dialer.
func Dialer(dial DialContext) DialContext {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetLinger(1) // If the system does not support this, the connection is still usable.
		}
		return conn, err
	}
}

// Transport returns an HTTP transport that opens connections with dial, the result of Dialer.
func Transport(dial DialContext) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerLimit,
		Proxy:                  nil,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See doc.go.
	}
}

// RedirectWithinHost returns a CheckRedirect function for an http.Client. A redirect to another host is not followed:
// the response with the redirect is the result. After MaxRedirects it returns tooMany, which may be
// http.ErrUseLastResponse.
func RedirectWithinHost(tooMany error) func(next *http.Request, via []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if next.URL.Hostname() != via[0].URL.Hostname() {
			return http.ErrUseLastResponse
		}
		if len(via) >= MaxRedirects {
			return tooMany
		}
		return nil
	}
}
