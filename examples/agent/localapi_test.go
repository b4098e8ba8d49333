package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// TestCheckNoCreatedPods: an agent without --api-write does not start if the state directory has created pods.
func TestCheckNoCreatedPods(t *testing.T) {
	for _, name := range []string{"edge", "edge[1]", "edge[", `edge\`, "*", "?", "[^a]", "edge one\n"} {
		o := defaults()
		o.manifests, o.listen, o.stateDir = t.TempDir(), "", filepath.Join(t.TempDir(), name)
		dir := filepath.Join(o.stateDir, createdPodsDir)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "uid.json"), nil, 0o600))
		_, err := newAgent(o, io.Discard, io.Discard)
		require.EqualError(t, err, "1 pods that were created by the Kubernetes API would be terminated and lose their volumes: start with --write-kubeconfig and --api-write, or remove "+dir, name)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600), "what cannot be listed may have pods")
		_, err = newAgent(o, io.Discard, io.Discard)
		require.ErrorContains(t, err, "cannot list the pods that were created by the Kubernetes API; they would be terminated and lose their volumes: ", name)
	}
}

// TestListenAPI: the port is the same for a token, unless it is in use.
func TestListenAPI(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	first, err := listenOnTokenPortOrAddress(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	usual := first.Addr().String()
	second, err := listenOnTokenPortOrAddress(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	require.Contains(t, text.String(), "the usual port of the Kubernetes API cannot be used")
	text.Reset()
	require.NotEqual(t, usual, second.Addr().String())
	require.NoError(t, first.Close())
	again, err := listenOnTokenPortOrAddress(defaultAPIListen, "secret", log)
	require.NoError(t, err)
	require.Equal(t, usual, again.Addr().String())
	other, err := listenOnTokenPortOrAddress(second.Addr().String(), "secret", log)
	require.Error(t, err, "it is taken")
	require.Nil(t, other)
	require.Empty(t, text.String())
	require.NoError(t, errors.Join(again.Close(), second.Close()))
}

// TestWriteKubeconfig: an agent that would overwrite another program's file does not start.
func TestWriteKubeconfig(t *testing.T) {
	dir := t.TempDir()
	o := defaults()
	o.manifests, o.listen, o.stateDir = t.TempDir(), "", dir
	o.api.kubeconfig, o.api.listen = filepath.Join(dir, "config"), defaultAPIListen
	require.NoError(t, os.WriteFile(o.api.kubeconfig, []byte("clusters: [{name: kind}]\n"), 0o600))
	_, err := newAgent(o, io.Discard, io.Discard)
	require.ErrorIs(t, err, localapi.ErrForeignFile)
	text, err := os.ReadFile(o.api.kubeconfig)
	require.NoError(t, err)
	require.Equal(t, "clusters: [{name: kind}]\n", string(text))
}

// mute is a runtime that returns an error, or a status.
type mute struct {
	runtime.Runtime
	status runtime.RuntimeStatus
	err    error
}

func (m *mute) Features() runtime.Features { return runtime.Features{StatusReporter: m} }

func (m *mute) RuntimeStatus(context.Context) (runtime.RuntimeStatus, error) { return m.status, m.err }

// TestRuntimeStatusFunc: a node is not ready if its runtime has not answered for 30 s, or reports that it is not ready.
func TestRuntimeStatusFunc(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rt := &mute{err: runtime.ErrNotReady}
	ask := lastRuntimeStatusFunc(rt, func() time.Time { return now })
	ready := func() string {
		seen, status := ask(t.Context())
		c := nodestatus.ReadyCondition(nodestatus.Facts{Now: now, RuntimeSeen: seen, Runtime: status})
		return string(c.Status) + " " + c.Message
	}
	now = now.Add(30 * time.Second)
	require.Equal(t, "True kubelet is posting ready status", ready())
	now = now.Add(time.Second)
	require.Equal(t, "False container runtime is down", ready())
	rt.status, rt.err = runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no CNI"}, nil
	require.Equal(t, "False no CNI", ready())
	rt.status.NetworkReady = true
	require.Equal(t, "True kubelet is posting ready status", ready())
	now = now.Add(time.Hour)
	ask = lastRuntimeStatusFunc(nil, func() time.Time { return now })
	require.Equal(t, "True kubelet is posting ready status", ready())
}

// TestCredentials_FaultsKeepNoPodFromRunning: with a faulty credentials file a static pod still runs, and the agent
// logs one warning. Replaced credentials are kept when the agent restarts.
func TestCredentials_FaultsKeepNoPodFromRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, path string)
		effect string
		served int
		next   int // warnings of the restart after it
	}{
		"damaged": {
			spoil: func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("{\x00"), 0o600)) }, served: 1,
			effect: "they are replaced: clients need the new kubeconfig",
		},
		"expired": {
			spoil:  func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, expired(t), 0o600)) },
			served: 1, effect: "they are replaced: clients need the new kubeconfig",
		},
		"a link": {
			spoil: func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/null", path)) }, served: 1, next: 1,
			effect: "new ones are used until the agent exits: clients need the new kubeconfig",
		},
		"no kubeconfig can be written": {
			spoil: func(t *testing.T, path string) {
				require.NoError(t, os.WriteFile(path, nil, 0o600))
				require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(path), "config"), 0o700))
			},
			effect: "they are replaced: clients need the new kubeconfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			c.spoil(t, filepath.Join(state, credentialsFile))
			args := []string{"--manifests", write(t, "x.yaml", oneShot("job", 0, 1)), "--listen", "", "--node-name", "n", "--state-dir", state, "--write-kubeconfig", filepath.Join(state, "config"), "--api-write"}
			log := runAgentUntil(t, args, "job-n", "Completed")
			warned := linesWith(log, "credentials of the Kubernetes API cannot be used")
			require.Len(t, warned, 1)
			assert.Contains(t, warned[0], c.effect)
			assert.Len(t, linesWith(log, "the Kubernetes API is served"), c.served)
			assert.Len(t, linesWith(log, "the Kubernetes API is not served, as its new kubeconfig cannot be written"), 1-c.served)
			if c.served == 1 {
				log = runAgentUntil(t, args, "job-n", "Completed")
				assert.Len(t, linesWith(log, "credentials of the Kubernetes API cannot be used"), c.next)
				assert.Len(t, linesWith(log, "the Kubernetes API is served"), 1)
			}
		})
	}
}

// linesWith returns the lines that contain a text.
func linesWith(all []string, text string) (some []string) {
	for _, line := range all {
		if strings.Contains(line, text) {
			some = append(some, line)
		}
	}
	return some
}

// runAgentUntil runs an agent until its table has a line with these words. It returns the lines of the log.
func runAgentUntil(t *testing.T, args []string, words ...string) []string {
	t.Helper()
	out, log := newLines(), newLines()
	signals, ended := make(chan os.Signal, 1), make(chan int, 1)
	go func() { ended <- run(args, signals, out, log) }()
	out.until(t, words...)
	signals <- os.Interrupt
	assert.Equal(t, exitOK, <-ended)
	return log.logged()
}

// expired returns credentials with an expired CA.
func expired(t *testing.T) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]string{
		"token": strings.Repeat("a", 64),
		"ca":    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	require.NoError(t, err)
	return text
}
