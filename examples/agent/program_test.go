package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCompletion_Scripts: there is a script for each shell, and it calls the program.
func TestCompletion_Scripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := called("completion", shell)
		assert.Equal(t, exitOK, code, stderr)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "__complete", shell)
		code, stdout, _ = called("completion", shell, "--help")
		assert.Equal(t, exitOK, code)
		assert.Contains(t, stdout, "autocompletion", shell)
	}
	code, _, stderr := called("completion", "csh")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, `"csh"`)
}

// TestCompletion_Words: a shell offers commands, flags by their own names, and the values of flags.
func TestCompletion_Words(t *testing.T) {
	pods := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"PodList","items":[
			{"metadata":{"namespace":"default","name":"web-n"},"spec":{"nodeName":"n"}},
			{"metadata":{"namespace":"kube-system","name":"dns-n"},"spec":{"nodeName":"n"}}]}`))
	}))
	defer pods.Close()
	server := strings.TrimPrefix(pods.URL, "http://")
	for _, c := range []struct {
		args     []string
		want     []string
		unwanted []string
	}{
		{[]string{""}, []string{"run", "ps", "explain", "logs", "exec", "version", "completion", "help"}, nil},
		{[]string{"e"}, []string{"exec", "explain"}, []string{"ps"}},
		{[]string{"--mani"}, []string{"--manifests", "--manifest-url"}, []string{"--pod-manifest-path"}},
		{[]string{"--runtime", ""}, []string{"memory", "cri"}, nil},
		{[]string{"--log-level", "w"}, []string{"warn", ":4"}, nil},
		{[]string{"--pod-manifest-path", ""}, []string{":0"}, nil}, // Files, from the shell.
		{[]string{"--for", ""}, []string{":4"}, nil},
		{[]string{"logs", "--"}, []string{"--follow", "--tail"}, []string{"--manifests"}},
		{[]string{"ps", "-o", ""}, []string{"json"}, nil},
		{[]string{"logs", "-f", "--server", server, ""}, []string{"web", "kube-system/dns"}, nil},
		{[]string{"logs", "--server", server, "web", ""}, []string{":4"}, []string{"web"}},
		{[]string{"logs", "--server", "/no/such.sock", ""}, []string{":4"}, nil},
		{[]string{"run", ""}, []string{":0"}, nil},
	} {
		code, stdout, _ := called(append([]string{"__completeNoDesc"}, c.args...)...)
		assert.Equal(t, exitOK, code, c.args)
		words := strings.Fields(stdout)
		for _, word := range c.want {
			assert.Contains(t, words, word, c.args)
		}
		for _, word := range c.unwanted {
			assert.NotContains(t, words, word, c.args)
		}
	}
}

// TestHelp_First: help is printed even if the rest of the line is wrong.
func TestHelp_First(t *testing.T) {
	for _, args := range []string{"--no-such-flag --help", "logs -x -h", "--resync x stray --help", "run ---x --help --max-syncs", "help help", "help help run"} {
		code, stdout, stderr := called(strings.Fields(args)...)
		assert.Equal(t, exitOK, code, args)
		assert.True(t, strings.HasPrefix(stdout, "Usage: agent "), args)
		assert.Empty(t, stderr, args)
	}
}
