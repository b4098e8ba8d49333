package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// write writes a certificate and its key to files.
func write(t *testing.T, pair tls.Certificate, certFile, keyFile string) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// TestListen: the API is served with the current certificate of the files, or a generated one. An error names its flag.
func TestListen(t *testing.T) {
	n, err := cluster.New(cluster.Config{Server: apiservertest.New(apiservertest.Config{}).Client("n1"), Node: node.Config{Name: "n1"}})
	require.NoError(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	o := &options{name: "n1", ips: []string{"127.0.0.1"}, certificateIPs: []string{"127.0.0.1"}, address: "127.0.0.1", port: port}
	log := slog.New(slog.DiscardHandler)
	_, err = o.listenAndReturnServe(n, log)
	require.EqualError(t, err, fmt.Sprintf("--port %d is taken, perhaps by a kubelet: use another one, or 0 for none", port))
	require.NoError(t, free.Close())

	dir := t.TempDir()
	cert, key := filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	ask := func(want *x509.Certificate) {
		var seen *x509.Certificate
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true,
			VerifyConnection:   func(state tls.ConnectionState) error { seen = state.PeerCertificates[0]; return nil },
		}}}
		answer, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/pods", port))
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, "401 Unauthorized\n", fmt.Sprint(answer.StatusCode, " ", string(text)))
		if want != nil {
			assert.True(t, want.Equal(seen))
		}
		assert.NoError(t, seen.VerifyHostname("127.0.0.1"))
		assert.NoError(t, seen.VerifyHostname("n1"))
	}
	run := func(body func()) {
		serve, err := o.listenAndReturnServe(n, log)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- serve(ctx) }()
		body()
		cancel()
		require.NoError(t, <-done)
	}
	run(func() { ask(nil) })

	o.certFile, o.keyFile, o.clientCA = cert, key, cert
	_, err = o.listenAndReturnServe(n, log)
	require.ErrorContains(t, err, "--tls-cert-file: open ")
	var made [2]tls.Certificate
	for i := range made {
		made[i], err = newSelfSignedCertificate("n1", o.ips)
		require.NoError(t, err)
		made[i].Leaf, err = x509.ParseCertificate(made[i].Certificate[0])
		require.NoError(t, err)
	}
	write(t, made[0], cert, key)
	run(func() {
		ask(made[0].Leaf)
		write(t, made[1], cert, key)
		ask(made[1].Leaf)
		require.NoError(t, os.WriteFile(cert, nil, 0o600))
		ask(made[1].Leaf)
	})
	o.certFile = ""
	_, err = o.listenAndReturnServe(n, log)
	require.ErrorContains(t, err, "--client-ca-file: ")
	require.ErrorContains(t, err, " has no certificate")
	_, err = parse([]string{"--kubeconfig", "x", "--tls-cert-file", "y"})
	require.EqualError(t, err, "--tls-cert-file and --tls-private-key-file need each other")
	_, err = parse([]string{"--kubeconfig", "x", "--port", "70000"})
	require.EqualError(t, err, "--port 70000: expected 0 to 65535")
}

// TestServingText: the port is the kubelet's. Other machines can connect only if the API server can authenticate. The
// program prints what does not work.
func TestServingText(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		ips  []string
	}{
		{
			nil, "the node's API is served on 127.0.0.1:10250 to clients with a token; kubectl logs, exec, attach, cp and port-forward need " +
				"--client-ca-file, the CA of the API server's client certificate (kubeadm: /etc/kubernetes/pki/ca.crt)", nil,
		},
		{[]string{"--client-ca-file", "x"}, "the node's API is served on 0.0.0.0:10250", nil},
		{[]string{"--client-ca-file", "x", "--address", "::"}, "the node's API is served on [::]:10250", nil},
		{[]string{"--client-ca-file", "x", "--address", "192.0.2.1", "--port", "1"}, "the node's API is served on 192.0.2.1:1", []string{"192.0.2.1"}},
		{[]string{"--client-ca-file", "x", "--address", "192.0.2.1", "--node-ip", "192.0.2.2"}, "the node's API is served on 192.0.2.1:10250", []string{"192.0.2.2"}},
		{[]string{"--port", "0"}, "the node's API is not served; kubectl logs, exec, attach, cp and port-forward need --port and --client-ca-file", nil},
	} {
		o, err := parse(append([]string{"--kubeconfig", "x"}, c.args...))
		require.NoError(t, err)
		assert.Equal(t, c.want, o.nodeAPIServingText())
		assert.Equal(t, c.ips, o.ips)
	}
}
