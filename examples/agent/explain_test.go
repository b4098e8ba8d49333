package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExplain: a command queries a running agent.
func TestExplain(t *testing.T) {
	o, err := parseAgentOptions([]string{"--listen", "127.0.0.1:0", "--node-name", "n", "--events", "false"})
	require.NoError(t, err)
	out, log := newLines(), newLines()
	a, err := newAgent(o, out, log)
	require.NoError(t, err)
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- a.runUntilStopped(signals) }()
	out.until(t, "stubborn-n", "1/1", "Running")

	for _, args := range [][]string{
		{"explain", "stubborn-n", "--server", a.portAddress()},
		{"explain", "--server=" + a.portAddress(), "default/stubborn-n"},
	} {
		code, stdout, stderr := called(args...)
		assert.Equal(t, exitOK, code, stderr)
		assert.True(t, strings.HasPrefix(stdout, "default/stubborn-n is Running: its container runs and is ready\n\n"), stdout)
		assert.Contains(t, stdout, "\nhistory\n")
	}
	code, stdout, stderr := called("explain", "kube-system/dns", "--server", a.portAddress())
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, stdout)
	assert.Regexp(t, `^agent: there is no pod "dns" in namespace "kube-system" on this node; /pods lists the pods
agent: 1 fault in the manifests: 6-bad\.yaml: line 8: spec\.restartPolicy: "Sometimes": expected one of Always, OnFailure, Never \(and 2 more\); nothing of this file runs \(since \S+Z\)
$`, stderr)
	signals <- os.Interrupt
	require.NoError(t, <-ended)
}

// TestExplain_NoAgent: errors tell the user what to do.
func TestExplain_NoAgent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	code, _, stderr := called("explain", "web", "--server", address)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "agent: no agent answers at "+address+"; is it running, with --listen "+address+"? (dial tcp "+address+": connect: connection refused)\n", stderr)
	code, stdout, _ := called("ps", "-o", "json", "--server", address)
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, stdout, "no half of a list")

	code, _, stderr = called("explain", "web", "--server", "here there")
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "agent: --server \"here there\": expected an address such as 127.0.0.1:10348\n", stderr)

	code, stdout, _ = called("explain", "--help")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "Usage: agent explain [NAMESPACE/]NAME [flags]\n\nExplain the state of a pod.\n")
}

// TestExplain_EndlessAnswer: an endless response cannot fill the memory.
func TestExplain_EndlessAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	text, err := client{strings.TrimPrefix(s.URL, "http://")}.getBodyOfOK(t.Context(), nil, "explain", "default", "web")
	assert.ErrorIs(t, err, errTooLong, "half a page would be taken for the whole")
	assert.Empty(t, text)
}
