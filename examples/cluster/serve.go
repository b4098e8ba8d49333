package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/debug"
)

// maxHeaderBytes leaves room for commands, which are part of the URL of a request. A request without credentials may
// use nine times as much memory while its header is read.
const maxHeaderBytes = 128 << 10

// listenAndReturnServe opens the port of the node's API (kubectl logs, exec and so on). The returned function
// serves the API until its context is done. If the port is 0, it opens nothing, and the returned function
// returns at once.
func (o *options) listenAndReturnServe(n *cluster.Node, log *slog.Logger) (serve func(context.Context) error, err error) {
	if o.port == 0 {
		return func(context.Context) error { return nil }, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := o.useCertificateFileOrSelfSigned(config); err != nil {
		return nil, err
	}
	var authorities func() *x509.CertPool
	if o.clientCA != "" {
		read, err := newReadOrLastValid(func() (*x509.CertPool, error) { return readCertPool(o.clientCA) })
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		authorities, config.ClientAuth = read, tls.RequestClientCert // Package review verifies the certificate.
	}
	handler, err := n.Handler(authorities)
	if err != nil {
		return nil, err
	}
	server, err := debug.NewServer(debug.ServerConfig{Handler: handler, TLS: config, MaxHeaderBytes: maxHeaderBytes, Log: log})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.listenAddress())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--port %d is taken, perhaps by a kubelet: use another one, or 0 for none", o.port)
	}
	if err != nil {
		return nil, fmt.Errorf("--port %d: %w", o.port, err)
	}
	return func(ctx context.Context) error { return server.Run(ctx, l) }, nil
}

// listenAddress returns the address and port of the node's API.
func (o *options) listenAddress() string { return net.JoinHostPort(o.address, strconv.Itoa(o.port)) }

// nodeAPIServingText describes for the user where the node's API is served, and which flags are missing for
// kubectl logs and exec.
func (o *options) nodeAPIServingText() string {
	switch {
	case o.port == 0:
		return "the node's API is not served; kubectl logs, exec, attach, cp and port-forward need --port and --client-ca-file"
	case o.clientCA == "":
		return fmt.Sprintf("the node's API is served on %s to clients with a token; kubectl logs, exec, attach, cp and port-forward need "+
			"--client-ca-file, the CA of the API server's client certificate (kubeadm: /etc/kubernetes/pki/ca.crt)", o.listenAddress())
	}
	return "the node's API is served on " + o.listenAddress()
}

// useCertificateFileOrSelfSigned makes config use the certificate of --tls-cert-file, which it reads again for each
// connection. Without that flag it creates a self-signed certificate.
func (o *options) useCertificateFileOrSelfSigned(config *tls.Config) error {
	if o.certFile == "" {
		made, err := newSelfSignedCertificate(o.name, o.certificateIPs)
		config.Certificates = []tls.Certificate{made}
		return err
	}
	read, err := newReadOrLastValid(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
		return &pair, err
	})
	if err != nil {
		return fmt.Errorf("--tls-cert-file: %w", err)
	}
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return read(), nil }
	return nil
}

// newReadOrLastValid returns a function that calls read. That function returns the value of read, or the last
// valid value if read fails. newReadOrLastValid calls read once itself. It returns the error if that first call
// fails.
func newReadOrLastValid[T any](read func() (*T, error)) (func() *T, error) {
	first, err := read()
	if err != nil {
		return nil, err
	}
	var last atomic.Pointer[T]
	last.Store(first)
	return func() *T {
		if now, err := read(); err == nil {
			last.Store(now)
		}
		return last.Load()
	}, nil
}

// readCertPool reads the CA certificates in a PEM file. It returns an error if the file has no certificate.
func readCertPool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}

// newSelfSignedCertificate creates a key and a self-signed certificate for the node's name and addresses, valid
// for a year. An API server without --kubelet-certificate-authority accepts it.
func newSelfSignedCertificate(name string, ips []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, ip := range ips {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, err
}
