package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFaults_AreShown: ps, explain and /faults show a faulty manifest until it is good again, also after a reload of
// the configuration.
func TestFaults_AreShown(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"), 0o600))
	for name, args := range map[string][]string{"flags": nil, "config": {"--config", config}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				require.NoError(t, os.WriteFile(filepath.Join(dir, ".new"), []byte(text), 0o600))
				require.NoError(t, os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, name)))
			}
			write("web.yaml", web)
			o, err := parseAgentOptions(append(args, "--manifests", dir, "--listen", "127.0.0.1:0", "--node-name", "n", "--events", "false", "--state-dir", t.TempDir()))
			require.NoError(t, err)
			out, log := newLines(), newLines()
			a, err := newAgent(o, out, log)
			require.NoError(t, err)
			signals, ended := make(chan os.Signal, 1), make(chan error, 1)
			go func() { ended <- a.runUntilStopped(signals) }()
			out.until(t, "web-n", "1/1", "Running")
			ask := func(args ...string) (stdout, stderr string) {
				t.Helper()
				code, stdout, stderr := called(append(args, "--server", a.portAddress())...)
				assert.Equal(t, exitOK, code, stderr)
				when := regexp.MustCompile(`since \S+Z( \(\S+ ago\))?`)
				clean := func(s string) string { return when.ReplaceAllString(strings.ReplaceAll(s, dir, "DIR"), "since T") }
				return clean(stdout), clean(stderr)
			}
			_, stderr := ask("ps")
			assert.Empty(t, stderr)

			write("web.yaml", "kind: [")
			log.until(t, "level=WARN", "web.yaml")
			page, _ := ask("explain", "web")
			first, _, _ := strings.Cut(page, "\n")
			assert.Equal(t, "default/web-n is Running: its container runs and is ready; but a manifest of it has a fault", first)
			assert.Contains(t, page, "\nmanifest  fault of DIR/web.yaml since T: line 1: not YAML: did not find expected node content; its last good version stays in force\n")
			stdout, stderr := ask("ps")
			assert.Equal(t, 2, strings.Count(stdout, "\n"))
			assert.Equal(t, "1 fault in the manifests: DIR/web.yaml: line 1: not YAML: did not find expected node content; its last good version stays in force (since T)\n", stderr)
			stdout, stderr = ask("ps", "-o", "json")
			assert.NotContains(t, stdout, "faults")
			assert.Empty(t, stderr)

			if a.files != nil {
				require.NoError(t, a.replaceChangedSources(&a.options, []string{"manifest-period"}), "another source is in its place, and knows what was kept")
				log.until(t, "level=WARN", "web.yaml", "its last good version stays in force")
			}
			write("new.yaml", "kind: Pod")
			log.until(t, "level=WARN", "new.yaml")
			code, _, stderr := called("explain", "new", "--server", a.portAddress())
			assert.Equal(t, exitFailed, code)
			lines := strings.Split(strings.ReplaceAll(stderr, dir, "DIR"), "\n")
			assert.Equal(t, `agent: there is no pod "new" in namespace "default" on this node; /pods lists the pods`, lines[0])
			assert.Equal(t, "agent: 2 faults in the manifests:", lines[1])
			assert.Contains(t, lines[2], "agent:   DIR/new.yaml: line 1: apiVersion: missing: expected v1; nothing of this file runs (since ")

			page, _ = ask("explain", "web")
			assert.Contains(t, page, first)
			write("web.yaml", web)
			log.until(t, "level=INFO", "a problem of a manifest is resolved", "web.yaml")
			require.NoError(t, os.Remove(filepath.Join(dir, "new.yaml")))
			log.until(t, "level=INFO", "a problem of a manifest is resolved", "new.yaml")
			_, stderr = ask("ps")
			assert.Empty(t, stderr)
			signals <- os.Interrupt
			require.NoError(t, <-ended)
		})
	}
}

// TestFaults_Restart: an agent that starts while a file is half written has the pods of the last good version of an
// earlier agent.
func TestFaults_Restart(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for _, text := range []string{web, web[:40], ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o600))
		out, log := newLines(), newLines()
		signals, code := make(chan os.Signal, 1), make(chan int, 1)
		go func() {
			code <- run([]string{"--manifests", dir, "--node-name", "n", "--listen", "", "--state-dir", state}, signals, out, log)
		}()
		if text != web {
			log.until(t, "level=WARN", "web.yaml", `effect="its last good version stays in force"`)
		}
		out.until(t, "web-n", "1/1", "Running")
		signals <- os.Interrupt
		assert.Equal(t, exitOK, <-code)
	}
}
