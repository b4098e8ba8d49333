package server_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/syncloop/server"
)

func TestNew_Requires(t *testing.T) {
	_, err := server.New(server.Config{})
	require.EqualError(t, err, "server: Config.NodeName, Pods, Health, Finder, Authenticator and Authorizer are all needed")
}

// AU-1, AU-4, AU-5, AU-6, AU-7, AU-8, AU-9: an unauthenticated client gets 401 and an unauthorized one
// 403, on every path except /healthz. Each path needs its verb on its subresource.
func TestAccess(t *testing.T) {
	h := serve(t).start()
	paths := []string{
		"/pods", "/containerLogs/default/web/c", "/exec/default/web/c", "/exec/default/web/u1/c", "/attach/default/web/c", "/attach/default/web/u1/c",
		"/portForward/default/web", "/portForward/default/web/u1", "/run/default/web/c", "/runningpods/", "/stats/summary", "/metrics", "/metrics/cadvisor",
		"/logs/", "/checkpoint/default/web/c", "/configz", "/debug/pprof/", "/", "/nothing", "/healthz/ping", "/podsx",
	}
	for _, method := range []string{"GET", "POST", "PUT"} {
		for _, path := range paths {
			for _, token := range []string{"", "mallory"} {
				code, text := h.askAs(token, method, path)
				assert.Equal(t, 401, code, path)
				assert.Equal(t, "Unauthorized", text)
			}
			code, text := h.askAs("broken", method, path)
			assert.Equal(t, 500, code)
			assert.Equal(t, "the user cannot be authenticated", text)
		}
	}
	assert.Empty(t, h.reviewed)
	h.allowed = func(authorizationv1.ResourceAttributes) (bool, error) { return false, nil }
	var asked []string
	onlyGet := []string{"/pods", "/containerLogs/default/web/c", "/runningpods/", "/configz", "/debug/pprof/"}
	for _, path := range paths {
		for _, method := range []string{"GET", "POST"} {
			if method == "POST" && slices.Contains(onlyGet, path) {
				continue
			}
			code, _ := h.ask(method, path)
			assert.Equal(t, 403, code, path)
		}
	}
	asked, h.reviewed = h.reviewed, nil
	want := []string{"alice get v1 nodes/pods n1", "alice get v1 nodes/proxy n1", "alice get v1 nodes/proxy n1"}
	for i := 2; i < 8; i++ {
		want = append(want, "alice create v1 nodes/proxy n1", "alice create v1 nodes/proxy n1")
	}
	for _, path := range paths[8:] {
		subresource := "proxy"
		if path == "/configz" { // The finer right first.
			want = append(want, "alice get v1 nodes/configz n1", "alice get v1 nodes/proxy n1")
			continue
		}
		if name := strings.Split(path, "/")[1]; name == "metrics" || name == "stats" {
			subresource = name
		}
		want = append(want, "alice get v1 nodes/"+subresource+" n1")
		if !slices.Contains(onlyGet, path) {
			want = append(want, "alice create v1 nodes/"+subresource+" n1")
		}
	}
	assert.Equal(t, want, asked)

	_, text := h.ask("GET", "/pods")
	assert.Equal(t, `Forbidden: user "alice" may not get nodes/pods of node n1: no rule for pods; no rule for proxy`, text)
	h.allowed = func(authorizationv1.ResourceAttributes) (bool, error) { return true, errors.New("no answer") }
	code, text := h.ask("GET", "/pods")
	assert.Equal(t, 500, code)
	assert.Equal(t, "the request cannot be authorized: no answer", text)
	h.allowed = func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Subresource == "pods", nil }
	code, text = h.ask("GET", "/pods")
	assert.Equal(t, 200, code)
	assert.Contains(t, text, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","namespace":"default","uid":"u1"}`)
	for _, path := range []string{"/pods/../exec/default/web/c", "/pods%2f..%2fexec/default/web/c", "/%65xec/default/web/c"} {
		code, _ = h.ask("GET", path)
		assert.Equal(t, 403, code, path)
	}
	assert.Empty(t, h.seen())
}

// HS-21: a UID in the path must be the UID of the pod.
func TestAccess_UID(t *testing.T) {
	h := serve(t).start()
	for _, path := range []string{"/exec/default/web/u2/c?command=ls&output=1", "/attach/default/web/u2/c?output=1", "/portForward/default/web/u2"} {
		code, text := h.ask("POST", path)
		assert.Equal(t, "404 pod web is not on this node", sprint(code, text), path)
	}
	for _, path := range []string{"/exec/default/web/u1/c?command=ls&output=1", "/attach/default/web/u1/c?output=1", "/portForward/default/web/u1"} {
		code, _ := h.ask("POST", path)
		assert.NotEqual(t, 404, code, path)
	}
}

// The health is for everyone, and its reasons are not.
func TestHealthz(t *testing.T) {
	h := serve(t).start()
	code, text := h.askAs("", "GET", "/healthz")
	assert.Equal(t, "200 ok", sprint(code, text))
	h.healthy = errors.New("pod default/secret panicked")
	code, text = h.askAs("", "GET", "/healthz")
	assert.Equal(t, "500 the node is not healthy", sprint(code, text))
}

// AU-8: the configuration needs the right configz, or proxy.
func TestConfigz(t *testing.T) {
	h := serve(t)
	h.config.Configuration = func() any { return map[string]any{"maxPods": 9, "port": 10250} }
	h.start()
	h.allowed = func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Subresource == "configz", nil }
	code, text := h.ask("GET", "/configz")
	assert.Equal(t, `200 {"kubeletconfig":{"maxPods":9,"port":10250}}`, sprint(code, text))
	h.allowed = func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Subresource == "proxy", nil }
	code, _ = h.ask("GET", "/configz")
	assert.Equal(t, 200, code)
	h.allowed = func(a authorizationv1.ResourceAttributes) (bool, error) { return a.Subresource == "metrics", nil }
	code, text = h.ask("GET", "/configz")
	assert.Equal(t, `403 Forbidden: user "alice" may not get nodes/configz of node n1: no rule for configz; no rule for proxy`, sprint(code, text))
	code, _ = h.askAs("mallory", "GET", "/configz")
	assert.Equal(t, 401, code)
}

func TestNotServed(t *testing.T) {
	h := serve(t)
	h.config.Logs, h.config.Exec, h.config.Attach, h.config.PortForward = nil, nil, nil, nil
	h.start()
	for path, want := range map[string]string{
		"/run/default/web/c":            "501 this node does not serve /run",
		"/metrics":                      "501 this node does not serve /metrics",
		"/configz":                      "501 this node does not serve /configz",
		"/stats/summary":                "501 this node does not serve /stats",
		"/nothing":                      "404 a node has no such path",
		"/containerLogs/default/web/c":  "501 this node keeps no logs",
		"/exec/default/web/c?command=x": "501 this node does not run commands in containers",
		"/attach/default/web/c":         "501 this node does not attach to containers",
		"/portForward/default/web":      "501 this node forwards no ports",
	} {
		code, text := h.ask("GET", path)
		assert.Equal(t, want, sprint(code, text), path)
	}
}

// AU-5: metrics and usage have subresources of their own, and are only read.
func TestFigures(t *testing.T) {
	h := serve(t)
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	h.config.Metrics, h.config.ResourceMetrics, h.config.Stats = says("metrics"), says("resources"), says("summary")
	h.start()
	for path, want := range map[string]string{
		"/metrics": "200 metrics", "/metrics/resource": "200 resources", "/stats/summary": "200 summary",
		"/metrics/cadvisor": "501 this node does not serve /metrics", "/stats/container": "501 this node does not serve /stats",
	} {
		h.reviewed = nil
		code, text := h.ask("GET", path)
		assert.Equal(t, want, sprint(code, text), path)
		assert.Equal(t, []string{"alice get v1 nodes/" + strings.Split(path, "/")[1] + " n1"}, h.reviewed)
		code, _ = h.askAs("", "GET", path)
		assert.Equal(t, 401, code, path)
		code, _ = h.ask("POST", path)
		assert.Equal(t, map[bool]int{true: 405, false: 501}[strings.HasPrefix(want, "200")], code, path)
	}
}

// N37-72: a method that a known path does not support gets 405 with the supported methods, without an
// authorization. An unauthenticated client gets 401 first.
func TestMethods_N37_72(t *testing.T) {
	h := serve(t)
	figures := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures") })
	h.config.Metrics, h.config.ResourceMetrics, h.config.Stats = figures, figures, figures
	h.allowed = func(authorizationv1.ResourceAttributes) (bool, error) { return false, nil }
	h.start()
	answer := func(method, path string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, h.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer alice")
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		return strings.TrimSpace(sprint(got.StatusCode, got.Header.Get("Allow")))
	}
	for path, allowed := range map[string]string{
		"/pods": "GET", "/containerLogs/default/web/c": "GET", "/configz": "GET", "/runningpods/": "GET", "/debug/pprof/heap": "GET", "/logs/": "GET, POST",
		"/exec/default/web/c": "GET, POST", "/exec/default/web/u1/c": "GET, POST", "/attach/default/web/c": "GET, POST", "/attach/default/web/u1/c": "GET, POST",
		"/portForward/default/web": "GET, POST", "/portForward/default/web/u1": "GET, POST",
		"/stats/summary": "GET", "/metrics": "GET, HEAD", "/metrics/resource": "GET, HEAD", "/healthz": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			h.reviewed = nil
			want := "405 " + allowed
			taken := slices.Contains(strings.Split(allowed, ", "), method)
			if taken {
				want = "403"
			}
			if taken && path == "/healthz" {
				want = "200"
			}
			assert.Equal(t, want, answer(method, path), "%s %s", method, path)
			assert.Equal(t, taken && path != "/healthz", len(h.reviewed) > 0, "%s %s: %q", method, path, h.reviewed)
			if path != "/healthz" {
				code, _ := h.askAs("mallory", method, path)
				assert.Equal(t, 401, code, "%s %s", method, path)
			}
		}
	}
}
