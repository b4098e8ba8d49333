package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

const web = `
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {memory.podkeel.dev/server: run=forever ignore-term}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: server, image: "nginx:1.29"}
`

// TestFiles: a person edits a directory while the agent runs.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		// By a rename, as editors do.
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".new"), []byte(text), 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, name)))
	}
	out, log := newLines(), newLines()
	signals, code := make(chan os.Signal, 1), make(chan int, 1)
	go func() {
		code <- run([]string{"--manifests", dir, "--node-name", "n", "--listen", ""}, signals, out, log)
	}()
	log.until(t, `msg="the agent runs"`, "manifests="+dir)

	write("web.yaml", web)
	out.until(t, "web-n", "1/1", "Running")

	write("web.yaml", strings.ReplaceAll(web, "1.29", "1.30"))
	out.until(t, "web-n", "Terminating")
	out.until(t, "web-n", "1/1", "Running")

	write("web.yaml", "kind: [")
	log.until(t, "level=WARN", "web.yaml: line 1: not YAML", `effect="its last good version stays in force"`)
	write("z-twin.yaml", "kind: Pod")
	log.until(t, "z-twin.yaml: line 1: apiVersion", `effect="nothing of this file runs"`)
	write("z-twin.yaml", web)
	log.until(t, "z-twin.yaml", `effect="the pod of the earlier file runs"`)
	require.NoError(t, os.Remove(filepath.Join(dir, "z-twin.yaml")))

	write("odd.yaml", `{apiVersion: v1, kind: Pod, metadata: {name: odd}, spec: {securityContext: {seLinuxChangePolicy: MountOption}, containers: [{name: c, image: x}]}}`)
	log.until(t, " Warning IgnoredField pod/default/odd-n: ", "spec.securityContext.seLinuxChangePolicy (volumes are not labelled)")
	out.until(t, "odd-n", "1/1", "Running")
	write("mapped.yaml", `{apiVersion: v1, kind: Pod, metadata: {name: mapped}, spec: {hostUsers: false, containers: [{name: c, image: x}]}}`)
	out.until(t, "mapped-n", "0/1", "UnsupportedField")

	require.NoError(t, os.Remove(filepath.Join(dir, "web.yaml")))
	out.until(t, "web-n", "Terminating")
	out.until(t, "web-n", "Gone")

	signals <- syscall.SIGTERM
	log.until(t, `msg="the agent ends" why=terminated on-exit=leave`)
	assert.Equal(t, exitOK, <-code)
}

// TestDebugHandler tests the debug handler end to end.
func TestDebugHandler(t *testing.T) {
	o, err := parseAgentOptions([]string{"--listen", "127.0.0.1:0", "--node-name", "n"})
	require.NoError(t, err)
	var out, log output
	a, err := newAgent(o, &out, &log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	<-a.node.Ready()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (int, string) {
		answer, err := client.Get("http://" + a.portAddress() + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		code, body := get(path)
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "ok", body)
	}
	code, body := get("/pods")
	assert.Equal(t, http.StatusOK, code)
	var list v1.PodList
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	assert.Equal(t, "PodList", list.Kind)
	require.Len(t, list.Items, 12)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
		assert.Equal(t, "n", list.Items[i].Spec.NodeName)
		assert.NotEmpty(t, list.Items[i].Status.Phase)
	}
	assert.Subset(t, names, []string{"web-n", "job-n", "init-chain-n", "crash-looper-n", "stubborn-n"})
	for path, want := range map[string]string{
		"/metrics": "kubelet_desired_pods{static=\"true\"} 12\n", "/metrics/resource": "resource_scrape_error 0\n", "/stats/summary": `"name":"web-n"`,
	} {
		code, body = get(path)
		assert.Equal(t, http.StatusOK, code, path)
		assert.Contains(t, body, want, path)
	}
	code, _ = get("/none")
	assert.Equal(t, http.StatusNotFound, code)

	signals <- os.Interrupt
	require.NoError(t, <-ended)
	_, err = client.Get("http://" + a.portAddress() + "/healthz")
	assert.Error(t, err, "no process listens any more")
}
