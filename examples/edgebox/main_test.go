package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines receives the output of the box, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// await waits for a line that matches.
func (l lines) await(pattern string) []string {
	for line := range l {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(line); m != nil {
			return m
		}
	}
	return nil
}

// started is a running box.
type started struct {
	lines
	end func() // ends it, and waits for that
}

func start(t *testing.T, o options) started {
	out := make(lines, 1000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o.listen = "127.0.0.1:0"
	go func() { ended <- run(ctx, out, o) }()
	return started{out, func() {
		stop()
		require.NoError(t, <-ended)
	}}
}

// get returns the body of a response with status 200.
func get(t *testing.T, client *http.Client, url, token string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %.100s", url, body)
	return string(body)
}

// TestRun: the box runs the pods of its directory, serves the debug handler, and stops its pods at the end.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	manifest, err := embedded.ReadFile("manifests/web.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yaml"), manifest, 0o600))
	box := start(t, options{manifests: dir})
	address := box.await(`the debug handler on (\S+)`)[1]
	box.await(`web-edge-1 1/1 Running`)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{
		"/healthz":                     "ok",
		"/explain/default/web-edge-1":  "default/web-edge-1 is Running",
		"/timeline/default/web-edge-1": "<!DOCTYPE html>",
	} {
		assert.True(t, strings.HasPrefix(get(t, client, "http://"+address+path, ""), want), path)
	}
	box.end()
}

// TestRun_Metrics: the metrics count the node's work.
func TestRun_Metrics(t *testing.T) {
	box := start(t, options{})
	address := box.await(`the debug handler on (\S+)`)[1]
	box.await(`web-edge-1 1/1 Running`)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	counted := get(t, client, "http://"+address+"/metrics", "")
	for _, want := range []string{`kubelet_running_containers{container_state="running"} `, `podkeel_action_duration_seconds_count{action="StartContainer"} `} {
		assert.Contains(t, counted, want)
	}
	box.end()
}

// TestRun_ManifestURL: the pods of a server run beside the pods of the directory. If the server does not answer after a
// restart of the box, the pods of its last answer run.
func TestRun_ManifestURL(t *testing.T) {
	state := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "remote"}, "spec": {"containers": [{"name": "c", "image": "img:1"}]}}`)
	}))
	o := options{manifestURL: server.URL, state: state}
	box := start(t, o)
	box.await(`remote-edge-1 1/1 Running`)
	box.end()
	server.Close()
	box = start(t, o)
	box.await(`remote-edge-1 1/1 Running`)
	box.end()
}

// TestRun_LocalAPI: a client with the kubeconfig sees the pods, and another client sees nothing.
func TestRun_LocalAPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	box := start(t, options{kubeconfig: file})
	box.await(`kubectl --kubeconfig \S+ get pods`)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	require.NoError(t, json.Unmarshal(text, &config))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	url := config.Clusters[0].Cluster.Server + "/api/v1/namespaces/default/pods"
	var pods v1.PodList
	require.NoError(t, json.Unmarshal([]byte(get(t, client, url, config.Users[0].User.Token)), &pods))
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	assert.ElementsMatch(t, []string{"flaky-edge-1", "web-edge-1"}, names)
	answer, err := client.Get(url)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	box.end()
}

// TestRun_TakenPort: if a port cannot be opened, the box exits with an error and leaves nothing behind.
func TestRun_TakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	err = run(t.Context(), io.Discard, options{listen: taken.Addr().String()})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
