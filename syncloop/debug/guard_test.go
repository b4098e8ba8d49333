package debug_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// everything is a Config that has every route.
func everything() debug.Config {
	ok := func() error { return nil }
	p := &people{
		read: func(context.Context, runtime.ReadLogRequest, io.Writer) error { return nil },
		exec: func(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) { return 0, nil },
	}
	return debug.Config{
		Pods: func() []*v1.Pod { return nil }, Health: ok, Ready: ok, Logs: p, Exec: p, Hosts: []string{"node-1"},
		Explain:  func(string, string) (fmt.Stringer, bool) { return page{"fine"}, true },
		Timeline: func(string, string) (timeline.Timeline, bool) { return timeline.Timeline{Pod: "default/web"}, true },
	}
}

// everyRoute returns a method and a path for each route, and for an unknown path.
func everyRoute() [][2]string {
	all := [][2]string{{"GET", "/"}, {"GET", "/nothing"}, {"DELETE", "/pods"}, {"OPTIONS", "/pods"}, {"GET", "//pods"}}
	for _, pattern := range debug.Patterns(everything()) {
		method, path, _ := strings.Cut(pattern, " ")
		path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.TrimSuffix(path, "{$}"), "web")
		if method == "POST" {
			path += "?command=true"
		}
		all = append(all, [2]string{method, path})
	}
	return all
}

// TestGuard_EveryRoute: every route rejects requests of pages in a browser, also of a page whose name
// resolves to this machine, and serves requests to an IP address.
func TestGuard_EveryRoute(t *testing.T) {
	h, err := debug.New(everything())
	require.NoError(t, err)
	source, err := os.ReadFile("handler.go")
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(source), ".HandleFunc("), "a route that is not in routes()")
	assert.Zero(t, strings.Count(string(source), ".Handle("), "a route that is not in routes()")

	page := "requests of pages in a browser are rejected\n"
	for _, route := range everyRoute() {
		for _, c := range []struct{ host, header, value, want string }{
			{host: "evil.example:10348", want: "this host is not \"evil.example\": use an IP address or localhost\n"},
			{host: "127.0.0.1.evil.example:10348", want: "this host is not \"127.0.0.1.evil.example\": use an IP address or localhost\n"},
			{host: "localhost.evil.example", want: "this host is not \"localhost.evil.example\": use an IP address or localhost\n"},
			{host: "node-1.evil.example", want: "this host is not \"node-1.evil.example\": use an IP address or localhost\n"},
			{"127.0.0.1:10348", "Origin", "https://evil.example", page},
			{"127.0.0.1:10348", "Origin", "null", page},
			{"127.0.0.1:10348", "Origin", "", page},
			{"127.0.0.1:10348", "Sec-Fetch-Site", "cross-site", page},
			{"127.0.0.1:10348", "Sec-Fetch-Site", "same-site", page},
			{"127.0.0.1:10348", "Sec-Fetch-Site", "same-origin", page},
			{"127.0.0.1:10348", "Sec-Fetch-Site", "", page},
		} {
			r := httptest.NewRequest(route[0], route[1], nil)
			r.Host, r.RemoteAddr = c.host, "127.0.0.1:1"
			if c.header != "" {
				r.Header[c.header] = []string{c.value}
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			assert.Equal(t, 403, answer.Code, "%s %+v", route, c)
			assert.Equal(t, c.want, answer.Body.String(), "%s %+v", route, c)
		}
	}
	for _, route := range everyRoute()[5:] {
		for _, host := range []string{"127.0.0.1:10348", "localhost:10348", "[::1]:10348", "127.0.0.1", "[::1]"} {
			r := httptest.NewRequest(route[0], route[1], nil)
			r.Host, r.RemoteAddr = host, "127.0.0.1:1"
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			assert.Equal(t, 200, answer.Code, "%s %s: %s", route, host, answer.Body)
		}
	}
}

// TestGuard_WhoMayRead: requests to an IP address, to an allowed name or over a Unix socket are served.
// A page that a person opens in a browser is served too.
func TestGuard_WhoMayRead(t *testing.T) {
	h, err := debug.New(everything())
	require.NoError(t, err)
	for _, host := range []string{"192.0.2.1:10348", "[2001:db8::1]:10348", "node-1:10348", "Node-1", "LOCALHOST", "localhost.:1", ""} {
		r := httptest.NewRequest("GET", "/pods", nil)
		r.Host, r.RemoteAddr = host, "192.0.2.9:1"
		r.Header.Set("Sec-Fetch-Site", "none")
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		assert.Equal(t, 200, answer.Code, "%s: %s", host, answer.Body)
	}
	socket := &net.UnixAddr{Name: "/run/agent.sock", Net: "unix"}
	r := httptest.NewRequest("GET", "/pods", nil)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(socket)))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	assert.Equal(t, 200, answer.Code, "a page in a browser reaches no socket in the file system")
}

// TestGuard_NoBodies: no route has a use for a body, so none is waited for.
func TestGuard_NoBodies(t *testing.T) {
	h, err := debug.New(everything())
	require.NoError(t, err)
	for _, route := range everyRoute() {
		r := httptest.NewRequest(route[0], route[1], strings.NewReader("x"))
		r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		assert.Equal(t, 413, answer.Code, route)
		assert.Equal(t, "a request to this handler must not have a body\n", answer.Body.String())
		assert.Equal(t, "close", answer.Header().Get("Connection"))
	}
}
