package check_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is the host and the port of a server.
func place(t testing.TB, address string) (string, intstr.IntOrString) {
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return host, intstr.FromInt32(int32(n))
}

// get makes an http check of a server; change may alter the probe.
func get(t *testing.T, server *httptest.Server, change func(*v1.HTTPGetAction)) (prober.CheckResult, string) {
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	host, port := place(t, u.Host)
	action := &v1.HTTPGetAction{Path: "/", Port: port, Scheme: v1.URIScheme(strings.ToUpper(u.Scheme))}
	change(action)
	outcome, message, err := check.New(check.Config{}).Check(t.Context(), prober.Request{
		PodIP: host, Handler: &v1.ProbeHandler{HTTPGet: action},
	})
	require.NoError(t, err)
	return outcome, message
}

func TestHTTP_PR21(t *testing.T) {
	other := "http://elsewhere.invalid/"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other, http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/200", http.StatusFound)
		case "/huge":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		case "/headers":
			fmt.Fprintf(w, "")
			if r.Host != "me" || r.Header.Get("X-A") != "1" || r.UserAgent() != check.DefaultUserAgent || r.URL.RawQuery != "q=1" {
				panic(http.ErrAbortHandler)
			}
		default:
			code, _ := strconv.Atoi(r.URL.Path[1:])
			w.WriteHeader(code)
			fmt.Fprint(w, "body")
		}
	})
	for _, server := range []*httptest.Server{httptest.NewServer(handler), httptest.NewTLSServer(handler)} {
		for path, want := range map[string]prober.CheckResult{
			"/200": prober.Passed, "/399": prober.Passed, "/304": prober.Passed, "/400": prober.Failed, "/503": prober.Failed,
			"/away": prober.Warned, "/here": prober.Passed, "/round": prober.Failed, "/huge": prober.Passed,
		} {
			outcome, message := get(t, server, func(a *v1.HTTPGetAction) { a.Path = path })
			assert.Equal(t, want, outcome, "%s: %s", path, message)
			if want == prober.Warned {
				assert.Contains(t, message, "Probe terminated redirects, Response body: <a href=", "the words of a kubelet")
			}
			assert.Less(t, len(message), 12<<10)
		}
		outcome, message := get(t, server, func(a *v1.HTTPGetAction) {
			a.Path = "/headers?q=1"
			a.HTTPHeaders = []v1.HTTPHeader{{Name: "host", Value: "me"}, {Name: "x-a", Value: "1"}}
		})
		assert.Equal(t, prober.Passed, outcome, message)
		outcome, _ = get(t, server, func(a *v1.HTTPGetAction) { a.Path = "//elsewhere.invalid/200" })
		assert.Equal(t, prober.Passed, outcome, "a path names no host")
		server.Close()
		outcome, _ = get(t, server, func(a *v1.HTTPGetAction) {})
		assert.Equal(t, prober.Failed, outcome, "nobody answers")
	}
}

// TestHTTP_F96_Endless: if a server never stops writing the header or the body, the check reads up to
// the limit. If the server writes nothing, the check waits until the timeout.
func TestHTTP_F96_Endless(t *testing.T) {
	for name, c := range map[string]struct {
		begin, again string
		outcome      prober.CheckResult
		message      string
	}{
		"body":   {"HTTP/1.1 500 No\r\n\r\n", strings.Repeat("x", 1<<10), prober.Failed, "HTTP status 500: " + strings.Repeat("x", 10<<10)},
		"header": {"HTTP/1.1 200 OK\r\n", "X-A: " + strings.Repeat("x", 1<<10) + "\r\n", prober.Failed, "server response headers exceeded 65536 bytes; aborted"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			written := make(chan int)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					// Who answers before they are asked is hung up on.
					_, err = http.ReadRequest(bufio.NewReader(conn))
				}
				n := 0
				for err == nil {
					_, err = io.WriteString(conn, c.begin)
					c.begin = c.again
					n += len(c.again)
				}
				written <- n
			}()
			host, port := place(t, l.Addr().String())
			outcome, message, err := check.New(check.Config{}).Check(t.Context(), prober.Request{
				PodIP: host, Handler: &v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: port}},
			})
			require.NoError(t, err)
			assert.Equal(t, c.outcome, outcome)
			assert.True(t, strings.HasSuffix(message, c.message), "%.200s", message)
			assert.Less(t, <-written, 32<<20, "the connection is closed")
			require.NoError(t, l.Close())
		})
	}
}

// TestHTTP_Silent: who says nothing is not waited for longer than the check may take.
func TestHTTP_Silent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	host, port := place(t, l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err = check.New(check.Config{}).Check(ctx, prober.Request{
		PodIP: host, Handler: &v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: port}},
	})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host, port := place(t, l.Addr().String())
	req := prober.Request{
		PodIP: host, Handler: &v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromString("web")}},
		Ports: []v1.ContainerPort{{Name: "web", ContainerPort: port.IntVal}},
	}
	c := check.New(check.Config{})
	outcome, message, err := c.Check(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, prober.Passed, outcome, message)
	require.NoError(t, l.Close())
	outcome, _, err = c.Check(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, prober.Failed, outcome)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = c.Check(ended, req)
	assert.ErrorIs(t, err, context.Canceled)
}

// execer answers every command the same.
type execer struct {
	result runtime.ExecResult
	err    error
	got    runtime.ExecRequest
}

func (e *execer) Exec(_ context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	e.got = req
	return e.result, e.err
}

func TestExec_PR21_F96(t *testing.T) {
	e := &execer{result: runtime.ExecResult{Output: bytes.Repeat([]byte("x"), 1<<20)}}
	c := check.New(check.Config{Exec: e})
	req := prober.Request{ContainerID: "memory://c1", Handler: &v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"ok"}}}}
	outcome, message, err := c.Check(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, prober.Passed, outcome)
	assert.Len(t, message, 10<<10)
	assert.Equal(t, runtime.ExecRequest{ContainerID: "c1", Command: []string{"ok"}, OutputLimit: 10 << 10}, e.got)
	e.result = runtime.ExecResult{ExitCode: 2, Output: []byte("no\n")}
	outcome, message, err = c.Check(t.Context(), req)
	require.NoError(t, err)
	assert.Equal(t, prober.Failed, outcome)
	assert.Equal(t, "exit code 2: no", message)
	e.err = errors.New("broken")
	_, _, err = c.Check(t.Context(), req)
	assert.ErrorIs(t, err, e.err)
}

// F26: what makes no sense is an error, which counts for nothing.
func TestCheck_F26_Errors(t *testing.T) {
	tcp := func(host string, port intstr.IntOrString) *v1.ProbeHandler {
		return &v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: host, Port: port}}
	}
	for name, c := range map[string]struct {
		handler *v1.ProbeHandler
		want    error
	}{
		"no handler": {nil, check.ErrNoHandler}, "an empty one": {&v1.ProbeHandler{}, check.ErrNoHandler},
		"no exec":    {&v1.ProbeHandler{Exec: &v1.ExecAction{}}, check.ErrNoExec},
		"no grpc":    {&v1.ProbeHandler{GRPC: &v1.GRPCAction{}}, check.ErrNoGRPC},
		"no address": {tcp("", intstr.FromInt32(80)), check.ErrNoAddress},
		"no name":    {tcp("h", intstr.FromString("web")), check.ErrPort},
		"zero":       {tcp("h", intstr.FromInt32(0)), check.ErrPort},
		"too large":  {tcp("h", intstr.FromString("70000")), check.ErrPort},
		"http":       {&v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Host: "h", Port: intstr.FromString("web")}}, check.ErrPort},
	} {
		_, _, err := check.New(check.Config{}).Check(t.Context(), prober.Request{Handler: c.handler})
		assert.ErrorIs(t, err, c.want, name)
	}
}
