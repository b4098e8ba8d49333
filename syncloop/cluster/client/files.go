package client

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// rereadPeriod is how often certificate and token files are read while there are calls.
const rereadPeriod = 10 * time.Second

// certFiles are the files of the client certificate and of the server's CAs. A connection keeps the certificate with
// which it was opened, and the server refuses an expired one. Therefore new files need new connections.
type certFiles struct {
	cert, key, ca string // empty: part of the configuration

	mu                        sync.Mutex
	lastRead                  time.Time
	certText, keyText, caText []byte
	pair                      *tls.Certificate
	authorities               *x509.CertPool
}

// newCertFiles returns nil if the configuration contains the certificates inline, or if the files cannot be read.
func newCertFiles(cfg *rest.Config, settings *transport.Config) *certFiles {
	f := &certFiles{}
	if settings.TLS.ReloadTLSFiles {
		f.cert, f.key = settings.TLS.CertFile, settings.TLS.KeyFile
	}
	if len(cfg.CAData) == 0 {
		f.ca = cfg.CAFile
	}
	if !f.reloadIfChanged() {
		return nil
	}
	return f
}

// reloadIfChanged reads the files periodically, and reports whether they have new certificates. It ignores files that
// cannot be read or do not match yet.
func (f *certFiles) reloadIfChanged() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.lastRead) < rereadPeriod {
		return false
	}
	f.lastRead = now
	pair, authorities := f.reloadCertificate(), f.reloadCAs()
	return pair || authorities
}

// reloadCAs reads the CA file and reports whether it has changed.
func (f *certFiles) reloadCAs() bool {
	text, err := os.ReadFile(f.ca)
	if err != nil || bytes.Equal(text, f.caText) {
		return false
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return false
	}
	f.caText, f.authorities = text, pool
	return true
}

// reloadCertificate reads the client certificate and key and reports whether they have changed.
func (f *certFiles) reloadCertificate() bool {
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return false
	}
	key, err := os.ReadFile(f.key)
	if err != nil || bytes.Equal(cert, f.certText) && bytes.Equal(key, f.keyText) {
		return false
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false
	}
	f.certText, f.keyText, f.pair = cert, key, &pair
	return true
}

// tlsConfig returns a TLS configuration with the current CAs and client certificate.
func (f *certFiles) tlsConfig(settings *tls.Config) *tls.Config {
	settings = settings.Clone()
	if f == nil || settings == nil {
		return settings
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.authorities != nil && settings.RootCAs != nil {
		settings.RootCAs = f.authorities
	}
	if f.pair != nil {
		settings.GetClientCertificate = f.clientCertificate
	}
	return settings
}

// clientCertificate returns the client certificate for a new connection.
func (f *certFiles) clientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pair, nil
}
