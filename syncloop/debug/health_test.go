package debug_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/debug"
)

// textHandler returns a handler that responds with text.
func textHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

// TestNewHealth_ServesNoPod: of all paths of New, the handler for an address that every local user
// reaches answers health and metrics only, whatever the Config has.
func TestNewHealth_ServesNoPod(t *testing.T) {
	config := everything()
	config.Metrics, config.ResourceMetrics, config.Stats = textHandler("metrics"), textHandler("resources"), textHandler("stats")
	config.Faults = func() []source.Faults {
		return []source.Faults{{Count: 1, First: []source.Fault{{Path: "/m/web.yaml", Reason: "password=secret"}}}}
	}
	config.PrivatePathsHint = "ask the socket /run/x.sock"
	h, err := debug.NewHealth(config)
	require.NoError(t, err)
	refused := "this address serves health and metrics only, because every user of the machine can reach it; ask the socket /run/x.sock\n"
	served := map[string]string{
		"GET /healthz": "ok", "GET /healthz?verbose": "ok\n", "GET /readyz": "ok", "GET /metrics": "metrics", "GET /metrics/resource": "resources",
		"GET /": "the paths of this node:\nGET /healthz\nGET /metrics\nGET /metrics/resource\nGET /readyz\n",
	}
	for route, want := range served {
		method, path, _ := strings.Cut(route, " ")
		answer := get(t, h, method, path)
		assert.Equal(t, 200, answer.Code, route)
		assert.Equal(t, want, answer.Body.String(), route)
	}
	rejected := 0
	for _, route := range append(everyRoute(), [][2]string{{"GET", "/stats/summary"}, {"GET", "/faults"}}...) {
		if _, ok := served[route[0]+" "+route[1]]; ok || route[1] == "//pods" {
			continue
		}
		rejected++
		answer := get(t, h, route[0], route[1])
		assert.Equal(t, 403, answer.Code, route)
		assert.Equal(t, refused, answer.Body.String(), route)
	}
	assert.Equal(t, 14, rejected)

	r := request("GET", "/healthz")
	r.Header.Set("Origin", "https://evil.example")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	assert.Equal(t, 403, answer.Code)
	_, err = debug.NewHealth(debug.Config{Health: config.Health})
	assert.EqualError(t, err, "debug: Config.Health and Ready are both needed")
}

// TestExec_ForwardedRequests: a proxy on this machine passes on requests of clients elsewhere; no
// command runs for those, over a socket in the file system either.
func TestExec_ForwardedRequests(t *testing.T) {
	ran := 0
	p := &people{exec: func(context.Context, runtime.ExecStreamRequest, runtime.Streams) (int32, error) {
		ran++
		return 0, nil
	}}
	h := handler(t, p, true)
	for _, name := range []string{
		"", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Server", "x-real-ip", "X-Client-IP",
		"X-Cluster-Client-Ip", "Forwarded-For", "X-Originating-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP", "X-Remote-Addr", "X-Original-Host", "X-Envoy-External-Address",
	} {
		for _, here := range []net.Addr{&net.TCPAddr{}, &net.UnixAddr{Name: "/run/agent.sock", Net: "unix"}} {
			r := httptest.NewRequest("POST", "/exec/default/web?command=true", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1"
			if name != "" {
				r.Header.Set(name, "")
			}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, here))
			ran = 0
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			if name == "" {
				assert.Equal(t, 200, answer.Code)
				assert.Equal(t, 1, ran)
				continue
			}
			assert.Equal(t, 403, answer.Code, name)
			assert.Equal(t, "commands do not run for a proxy: its clients may be on other machines\n", answer.Body.String(), name)
			assert.Zero(t, ran, name)
		}
	}
}
