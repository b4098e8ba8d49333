package podhttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/podhttp"
)

func TestRedirectWithinHost(t *testing.T) {
	loop := errors.New("a loop")
	check := podhttp.RedirectWithinHost(loop)
	to := func(host string) *http.Request { return &http.Request{URL: &url.URL{Host: host}} }
	via := []*http.Request{to("a:80")}
	assert.NoError(t, check(to("a:81"), via), "another port is the same host")
	assert.ErrorIs(t, check(to("b:80"), via), http.ErrUseLastResponse)
	for len(via) < podhttp.MaxRedirects-1 {
		via = append(via, to("a"))
	}
	assert.NoError(t, check(to("a"), via))
	via = append(via, to("a"))
	assert.ErrorIs(t, check(to("a"), via), loop)
	assert.ErrorIs(t, check(to("b"), via), http.ErrUseLastResponse)
}

// The result of dial is returned, also an error and a connection of another kind.
func TestDialer(t *testing.T) {
	refused, pipe := errors.New("refused"), func() net.Conn { c, _ := net.Pipe(); return c }()
	for _, want := range []struct {
		conn net.Conn
		err  error
	}{{nil, refused}, {pipe, nil}, {(*net.TCPConn)(nil), refused}} {
		var asked string
		conn, err := podhttp.Dialer(func(_ context.Context, network, address string) (net.Conn, error) {
			asked = network + " " + address
			return want.conn, want.err
		})(t.Context(), "tcp", "192.0.2.1:80")
		assert.Equal(t, want.conn, conn)
		assert.Equal(t, want.err, err)
		assert.Equal(t, "tcp 192.0.2.1:80", asked)
	}
}

// No connection is reused, any certificate is accepted, and the size of a header is bounded.
func TestTransport(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			w.Header().Set("Long", strings.Repeat("x", 70<<10))
		}
	}))
	defer server.Close()
	dials := 0
	dial := podhttp.Dialer(nil)
	client := http.Client{Transport: podhttp.Transport(func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return dial(ctx, network, address)
	})}
	for range 2 {
		response, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	assert.Equal(t, 2, dials)
	response, err := client.Get(server.URL + "/long")
	if err == nil {
		_ = response.Body.Close()
	}
	assert.ErrorContains(t, err, "exceeded 65536 bytes")
}
