package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// certificate is a self-signed one, with its key.
func certificate(t *testing.T, name string) (cert, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// CE-6: a certificate whose files have changed is used by the calls that follow, and one whose key
// is not there yet, or that cannot be read, is not.
func TestClient_CE6_TheCertificateIsReadAgain(t *testing.T) {
	var mu sync.Mutex
	var names []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, r.TLS.PeerCertificates[0].Subject.CommonName)
		http.Error(w, "", http.StatusNotFound)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	write := func(file string, text []byte) { require.NoError(t, os.WriteFile(file, text, 0o600)) }
	cert, key := certificate(t, "first")
	write(certFile, cert)
	write(keyFile, key)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := client.New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: ca, ServerName: "example.com", CertFile: certFile, KeyFile: keyFile,
	}}, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	call := func() {
		t.Helper()
		c.FilesDue()
		_, err := c.Pods().Get(t.Context(), "default", "web")
		require.Error(t, err)
		_, err = c.Leases().Get(t.Context(), "n1")
		require.Error(t, err)
	}
	call()
	cert, key = certificate(t, "second")
	write(certFile, cert)
	call()
	write(keyFile, key)
	call()
	require.NoError(t, os.Remove(certFile))
	call()
	cert, key = certificate(t, "third")
	write(certFile, cert)
	write(keyFile, key)
	_, err = c.Pods().Get(t.Context(), "default", "web") // Within ten seconds no file is read.
	require.Error(t, err)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"first", "first", "first", "first", "second", "second", "second", "second", "second"}, names)
}

// CE-6: so are the authorities of a CA file. A server that has another certificate by then is
// trusted, and a file that cannot be read changes nothing.
func TestClient_CE6_TheAuthoritiesAreReadAgain(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusNotFound) }))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca")
	other, _ := certificate(t, "other")
	require.NoError(t, os.WriteFile(file, other, 0o600))
	c, err := client.New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: file, ServerName: "example.com"}}, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	call := func() error {
		c.FilesDue()
		_, err := c.Pods().Get(t.Context(), "default", "web")
		c.Reconnect()
		return err
	}
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, call(), &unknown)
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	require.True(t, apierrors.IsNotFound(call()))
	require.NoError(t, os.WriteFile(file, []byte("half"), 0o600))
	require.True(t, apierrors.IsNotFound(call()), "what cannot be read changes nothing")
	require.NoError(t, os.WriteFile(file, other, 0o600))
	require.ErrorAs(t, call(), &unknown)
}
