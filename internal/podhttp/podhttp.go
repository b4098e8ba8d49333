package podhttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// MaxRedirects is how many redirects are followed.
const MaxRedirects = 10

// headerLimit bounds the header of an answer, in bytes.
const headerLimit = 64 << 10

// DialContext makes a connection, as that of a net.Dialer does.
type DialContext func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer makes the connections of dial linger for a second at most after their end,
// where the system can. Nil is a net.Dialer's.
func Dialer(dial DialContext) DialContext {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetLinger(1) // If the system cannot, the connection is as good.
		}
		return conn, err
	}
}

// Transport makes requests over connections of dial, which come from Dialer.
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

// RedirectWithinHost is an http.Client's CheckRedirect. A redirect to another host is an answer.
// One too many has the given result; http.ErrUseLastResponse makes it an answer too.
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
