package client

import (
	"bytes"
	"crypto/tls"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/transport"
)

// filesPeriod is how often the files of a certificate are read, while there are calls.
const filesPeriod = 10 * time.Second

// files are those of the client's certificate. A connection keeps the certificate that it began
// with, which the server refuses when it has expired, so new files need new connections.
type files struct {
	cert, key string

	mu                sync.Mutex
	at                time.Time
	certText, keyText []byte
	pair              *tls.Certificate
}

// newFiles returns nil if the certificate is part of the configuration, or cannot be read.
func newFiles(settings *transport.Config) *files {
	f := &files{cert: settings.TLS.CertFile, key: settings.TLS.KeyFile}
	if !settings.TLS.ReloadTLSFiles || !f.changed() {
		return nil
	}
	return f
}

// changed reads the files from time to time, and reports whether they have another certificate.
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

// current is the certificate for a new connection.
func (f *files) current(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pair, nil
}
