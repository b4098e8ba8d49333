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

// newCertAndCAFilesIfAnyReadable returns the client certificate, key and CA files of a configuration after it
// has read them. It leaves out files whose content the configuration contains inline. It returns nil if there
// are no files, or if no file can be read.
func newCertAndCAFilesIfAnyReadable(cfg *rest.Config, settings *transport.Config) *certFiles {
	f := &certFiles{}
	if settings.TLS.ReloadTLSFiles {
		f.cert, f.key = settings.TLS.CertFile, settings.TLS.KeyFile
	}
	if len(cfg.CAData) == 0 {
		f.ca = cfg.CAFile
	}
	if !f.reloadIfDueAndChanged() {
		return nil
	}
	return f
}

// reloadIfDueAndChanged reads the files again and returns true if it has stored new CAs or a new client
// certificate. It returns false without reading if the last read was less than rereadPeriod ago. It ignores
// files that cannot be read, and a certificate that does not match its key.
func (f *certFiles) reloadIfDueAndChanged() (changed bool) {
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
	pair, authorities := f.reloadCertificateIfChanged(), f.reloadCAsIfChanged()
	return pair || authorities
}

// reloadCAsIfChanged reads the CA file and stores the CAs if the file has changed. It returns false for an
// unchanged, unreadable or invalid file.
func (f *certFiles) reloadCAsIfChanged() (changed bool) {
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

// reloadCertificateIfChanged reads the client certificate and key and stores them if they have changed. It
// returns false if they are unchanged, unreadable, or do not match.
func (f *certFiles) reloadCertificateIfChanged() (changed bool) {
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

// tlsConfigWithFiles returns a copy of a TLS configuration with the newest CAs and client certificate from the
// files. It sets the CAs only if the configuration has CAs already. Without files, or with nil settings, the
// copy is unchanged.
func (f *certFiles) tlsConfigWithFiles(settings *tls.Config) *tls.Config {
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

// clientCertificate returns the newest client certificate for a new connection.
func (f *certFiles) clientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pair, nil
}
