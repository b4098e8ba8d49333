package localapi_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/localapi"
)

// newService returns a service with a kubeconfig for the API of the harness.
func newService(t *testing.T, kubeconfig string) (*localapi.Service, error) {
	s, _, err := serviceAt(t, kubeconfig, nil)
	return s, err
}

// serviceAt is service with a listener that says it has an address, if one is given.
func serviceAt(t *testing.T, kubeconfig string, ip net.IP) (*localapi.Service, net.Listener, error) {
	h := newHarness(t)
	api, err := localapi.New(h.config)
	require.NoError(t, err)
	secrets, err := localapi.NewCredentials()
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	config := localapi.ServiceConfig{API: api, Listener: l, Credentials: secrets, Kubeconfig: kubeconfig}
	if ip != nil {
		config.Listener = at{l, net.TCPAddr{IP: ip, Port: 6443}}
	}
	s, err := localapi.NewService(config)
	return s, l, err
}

// TestService: a client that knows the kubeconfig only is answered over TLS, until the end. A second Run
// does not disturb the first one.
func TestService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	s, err := newService(t, file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	client, url := clientOf(t, file)
	for range 2 {
		answer, err := client.Get(url + "/healthz")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		assert.ErrorIs(t, s.Run(ctx), runtime.ErrSecondRun)
	}
	end()
	require.NoError(t, <-ended)
	_, err = client.Get(url + "/healthz")
	require.Error(t, err)
}

// at is a Listener that says it has another address.
type at struct {
	net.Listener
	address net.TCPAddr
}

func (a at) Addr() net.Addr { return &a.address }

// TestService_ItsAddress: a client trusts the server at the address of the kubeconfig, which need
// not be among the Hosts.
func TestService_ItsAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	s, l, err := serviceAt(t, file, net.IPv4(192, 0, 2, 7))
	require.NoError(t, err)
	assert.Equal(t, "192.0.2.7:6443", s.Address())
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	client, url := clientOf(t, file)
	assert.Equal(t, "https://192.0.2.7:6443", url)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}
	answer, err := client.Get(url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	end()
	require.NoError(t, <-ended)
}

// TestService_ForeignFile: a file of another program is unchanged, and NewService fails.
func TestService_ForeignFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("clusters: [{name: kind}]\n"), 0o600))
	_, err := newService(t, file)
	require.ErrorIs(t, err, localapi.ErrForeignFile)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "clusters: [{name: kind}]\n", string(text))
	_, err = localapi.NewService(localapi.ServiceConfig{})
	assert.EqualError(t, err, "localapi: ServiceConfig.API, Listener and Credentials are all needed")
}

// TestService_SameFile: a kubeconfig that is right stays as it is, as on a disk that can be written
// no more. One that others may read is written again.
func TestService_SameFile(t *testing.T) {
	h := newHarness(t)
	api, err := localapi.New(h.config)
	require.NoError(t, err)
	secrets, err := localapi.NewCredentials()
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	config := localapi.ServiceConfig{API: api, Listener: l, Credentials: secrets, Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	stat := func() os.FileInfo {
		_, err := localapi.NewService(config)
		require.NoError(t, err)
		info, err := os.Stat(config.Kubeconfig)
		require.NoError(t, err)
		return info
	}
	first := stat()
	assert.True(t, os.SameFile(first, stat()))
	require.NoError(t, os.Chmod(config.Kubeconfig, 0o644))
	again := stat()
	assert.False(t, os.SameFile(first, again))
	assert.Equal(t, os.FileMode(0o600), again.Mode().Perm())
}

// clientOf trusts the CA of a kubeconfig and knows where its server is.
func clientOf(t *testing.T, file string) (*http.Client, string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &config))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA))
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}, config.Clusters[0].Cluster.Server
}
