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

// filesPeriod is how often the files of a certificate are read, while there are calls.
const filesPeriod = 10 * time.Second

// files are those of the client's certificate, and of the authorities that the server's is to be
// signed by. A connection keeps what it began with, and the server refuses a certificate that
// has expired, so new files need new connections.
type files struct {
	cert, key, ca string // empty: part of the configuration

	mu                        sync.Mutex
	at                        time.Time
	certText, keyText, caText []byte
	pair                      *tls.Certificate
	authorities               *x509.CertPool
}

// newFiles returns nil if all is part of the configuration, or cannot be read.
func newFiles(cfg *rest.Config, settings *transport.Config) *files {
	f := &files{}
	if settings.TLS.ReloadTLSFiles {
		f.cert, f.key = settings.TLS.CertFile, settings.TLS.KeyFile
	}
	if len(cfg.CAData) == 0 {
		f.ca = cfg.CAFile
	}
	if !f.changed() {
		return nil
	}
	return f
}

// changed reads the files from time to time, and reports whether they have other certificates.
// Files that cannot be read, or do not belong together yet, change nothing.
func (f *files) changed() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.at) < filesPeriod {
		return false
	}
	f.at = now
	pair, authorities := f.readPair(), f.readAuthorities()
	return pair || authorities
}

func (f *files) readAuthorities() bool {
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

func (f *files) readPair() bool {
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

// secure has the settings of a new connection follow the files.
func (f *files) secure(settings *tls.Config) *tls.Config {
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
		settings.GetClientCertificate = f.current
	}
	return settings
}

// current is the certificate for a new connection.
func (f *files) current(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pair, nil
}
