package review_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/cluster/internal/review"
)

// systemRootVariable makes the test below the child of another one. The standard library reads the
// roots of the system once per process, and from SSL_CERT_FILE on Linux.
const systemRootVariable = "REVIEW_TEST_CLIENT"

// AU-1: as long as the CA of clients is not known, no client certificate is valid. It is not
// verified with the roots of the system, which may have signed it.
func TestAuthenticate_AU1_TheRootsOfTheSystemDoNotCount(t *testing.T) {
	if path := os.Getenv(systemRootVariable); path != "" {
		authenticateBySystemRoot(t, path)
		return
	}
	dir := t.TempDir()
	save := func(name string, certificate *x509.Certificate) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}), 0o600))
		return path
	}
	ca, key := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "a CA of the system"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	client, _ := issue(t, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "stranger", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca, key)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "SSL_CERT_FILE="+save("ca.pem", ca), "SSL_CERT_DIR="+dir, systemRootVariable+"="+save("client.pem", client))
	out, err := child.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "PASS: "+t.Name())
}

func authenticateBySystemRoot(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	client, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	if _, err = client.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Logf("the system does not take its roots from SSL_CERT_FILE: %v", err)
		return
	}
	for name, roots := range map[string]func() *x509.CertPool{
		"not configured": nil, "not known yet": func() *x509.CertPool { return nil }, "none": x509.NewCertPool,
	} {
		r, err := review.New(review.Config{Reviews: &scripted{}, ClientCAs: roots})
		require.NoError(t, err)
		request := request("")
		request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{client}}
		user, ok, err := r.Authenticate(request)
		require.NoError(t, err)
		assert.False(t, ok, name)
		assert.Empty(t, user, name)
	}
}
