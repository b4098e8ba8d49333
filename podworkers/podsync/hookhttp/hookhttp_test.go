package hookhttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a server that records its requests.
type log struct {
	*httptest.Server
	lines chan string
}

func newLog(t *testing.T, tls bool, handler http.HandlerFunc) *log {
	l := &log{lines: make(chan string, 100)}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.lines <- fmt.Sprintf("%s %s host=%s agent=%s x=%s auth=%t", r.Method, r.URL, r.Host, r.UserAgent(), r.Header.Get("X-A"), r.Header.Get("Authorization") != "")
		handler(w, r)
	}))
	if tls {
		l.StartTLS()
	} else {
		l.Start()
	}
	t.Cleanup(l.Close)
	return l
}

// asked is what the server was asked, in order.
func (l *log) asked() (lines []string) {
	for {
		select {
		case line := <-l.lines:
			lines = append(lines, line)
		default:
			return lines
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Any answer is a success.
func TestGet_AnyAnswer(t *testing.T) {
	for _, tls := range []bool{false, true} {
		for _, code := range []int{200, 204, 404, 500} {
			server := newLog(t, tls, status(code))
			require.NoError(t, hookhttp.New(hookhttp.Config{}).Get(t.Context(), server.URL+"/bye?x=1", http.Header{"x-a": {"1"}}))
			host := server.Listener.Addr().String()
			assert.Equal(t, []string{"GET /bye?x=1 host=" + host + " agent=kube-lifecycle/podkeel x=1 auth=false"}, server.asked())
		}
	}
}

func TestGet_Headers(t *testing.T) {
	server := newLog(t, false, status(200))
	given := http.Header{"Host": {"me"}, "User-Agent": {"other"}, "Authorization": {"Bearer x"}}
	require.NoError(t, hookhttp.New(hookhttp.Config{UserAgent: "mine"}).Get(t.Context(), server.URL, given))
	assert.Equal(t, []string{"GET / host=me agent=other x= auth=true"}, server.asked())
	assert.Len(t, given, 3, "the header is the caller's")
	require.NoError(t, hookhttp.New(hookhttp.Config{UserAgent: "mine"}).Get(t.Context(), server.URL, nil))
	assert.Contains(t, server.asked()[0], "agent=mine")
}

// No server answers, or the server stops in the middle of the header, or the URL is invalid.
func TestGet_NoAnswer(t *testing.T) {
	server := newLog(t, false, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	g := hookhttp.New(hookhttp.Config{})
	require.ErrorContains(t, g.Get(t.Context(), server.URL, nil), "hookhttp: ")
	server.Close()
	require.ErrorContains(t, g.Get(t.Context(), server.URL, nil), "hookhttp: ")
	require.ErrorContains(t, g.Get(t.Context(), "http://\x00", nil), "hookhttp: ")
}

// A redirect is followed within the host; to another one it is an answer. Going
// round in circles is one too.
func TestGet_Redirects(t *testing.T) {
	other := newLog(t, false, status(200))
	var target atomic.Value
	server := newLog(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/end" {
			http.Redirect(w, r, target.Load().(string), http.StatusFound)
		}
	})
	g := hookhttp.New(hookhttp.Config{})
	target.Store("/end")
	require.NoError(t, g.Get(t.Context(), server.URL+"/", nil))
	assert.Len(t, server.asked(), 2)
	target.Store(strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
	require.NoError(t, g.Get(t.Context(), server.URL+"/", nil))
	assert.Len(t, server.asked(), 1)
	assert.Empty(t, other.asked())
	target.Store("/")
	require.NoError(t, g.Get(t.Context(), server.URL+"/", nil))
	assert.Len(t, server.asked(), 10)
}

// An https request to a server that speaks plain http is repeated, without the Authorization header.
func TestGet_PlainServer(t *testing.T) {
	server := newLog(t, false, status(200))
	url := strings.Replace(server.URL, "http:", "https:", 1)
	require.NoError(t, hookhttp.New(hookhttp.Config{}).Get(t.Context(), url+"/bye", http.Header{"Authorization": {"Bearer x"}, "X-A": {"1"}}))
	host := server.Listener.Addr().String()
	assert.Equal(t, []string{"GET /bye host=" + host + " agent=kube-lifecycle/podkeel x=1 auth=false"}, server.asked())
}

// Get returns when its context ends, both while it waits for a response and while it reads an endless
// body.
func TestGet_EndsWithItsContext(t *testing.T) {
	began := make(chan struct{}, 1)
	over := make(chan struct{})
	defer close(over)
	hangs := newLog(t, false, func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	require.ErrorIs(t, hookhttp.New(hookhttp.Config{}).Get(ctx, hangs.URL, nil), context.Canceled)
}

// F96: a body is not read to its end if it has none.
func TestGet_F96_EndlessBody(t *testing.T) {
	var sent atomic.Int64
	server := newLog(t, false, func(w http.ResponseWriter, _ *http.Request) {
		for {
			n, err := w.Write(make([]byte, 32<<10))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	require.NoError(t, hookhttp.New(hookhttp.Config{}).Get(t.Context(), server.URL, nil))
	server.Close() // The handler has ended: its connection is closed.
	assert.Positive(t, sent.Load())
}

// Get uses no proxy from the environment and keeps no connection open.
func TestGet_OwnDialer(t *testing.T) {
	proxy := newLog(t, false, status(200))
	t.Setenv("HTTP_PROXY", proxy.URL)
	server := newLog(t, false, status(200))
	var dialled []string
	g := hookhttp.New(hookhttp.Config{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	for range 2 {
		require.NoError(t, g.Get(t.Context(), "http://192.0.2.1:80/", nil))
	}
	assert.Equal(t, []string{"192.0.2.1:80", "192.0.2.1:80"}, dialled)
	assert.Empty(t, proxy.asked())
	assert.Len(t, server.asked(), 2)
}
