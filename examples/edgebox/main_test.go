package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is where the box prints; it hands each line on.
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

// TestRun: the box runs the pods of its directory, answers, and stops its pods at its end.
func TestRun(t *testing.T) {
	dir, kubeconfig := t.TempDir(), filepath.Join(t.TempDir(), "kubeconfig")
	manifest, err := own.ReadFile("manifests/web.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yaml"), manifest, 0o600))
	out := make(lines, 1000)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, out, options{manifests: dir, listen: "127.0.0.1:0", kubeconfig: kubeconfig}) }()

	address := out.await(`the debug handler on (\S+)`)[1]
	out.await(`web-edge-1 1/1 Running`)
	for path, want := range map[string]string{
		"/healthz":                     "ok",
		"/explain/default/web-edge-1":  "default/web-edge-1 is Running",
		"/timeline/default/web-edge-1": "<!DOCTYPE html>",
		"/metrics":                     "# HELP ",
	} {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + address + path)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.True(t, strings.HasPrefix(string(body), want), "%s: %.100s", path, body)
	}
	info, err := os.Stat(kubeconfig)
	require.NoError(t, err)
	assert.NotZero(t, info.Size())
	stop()
	require.NoError(t, <-ended)
}

// TestRun_TakenPort: what cannot be served ends the box with a sentence, and nothing is left behind.
func TestRun_TakenPort(t *testing.T) {
	err := run(t.Context(), io.Discard, options{listen: "no address"})
	require.Error(t, err)
}
