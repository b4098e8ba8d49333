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

// longestHeader is for commands, which come in the address of a request. A request without
// credentials may cost nine times as much while its header is read.
const longestHeader = 128 << 10

// listen opens the port of the node's API. What it returns serves it until its context ends.
func (o *options) listen(n *cluster.Node, log *slog.Logger) (serve func(context.Context) error, err error) {
	if o.port == 0 {
		return func(context.Context) error { return nil }, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := o.certificates(config); err != nil {
		return nil, err
	}
	var authorities func() *x509.CertPool
	if o.clientCA != "" {
		read, err := latest(func() (*x509.CertPool, error) { return authoritiesOf(o.clientCA) })
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		authorities, config.ClientAuth = read, tls.RequestClientCert // Package review verifies it.
	}
	handler, err := n.Handler(authorities)
	if err != nil {
		return nil, err
	}
	server, err := debug.NewServer(debug.ServerConfig{Handler: handler, TLS: config, MaxHeaderBytes: longestHeader, Log: log})
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

// listenAddress is where the node's API is served.
func (o *options) listenAddress() string { return net.JoinHostPort(o.address, strconv.Itoa(o.port)) }

// served says what of the node's API works.
func (o *options) served() string {
	switch {
	case o.port == 0:
		return "the node's API is not served; kubectl logs, exec, attach, cp and port-forward need --port and --client-ca-file"
	case o.clientCA == "":
		return fmt.Sprintf("the node's API is served on %s to those who have a token; kubectl logs, exec, attach, cp and port-forward need "+
			"--client-ca-file, with what signs the API server's client certificate (kubeadm: /etc/kubernetes/pki/ca.crt)", o.listenAddress())
	}
	return "the node's API is served on " + o.listenAddress()
}

// certificates gives the configuration the certificate of the files, as they are at each
// connection, or one that is made now.
func (o *options) certificates(config *tls.Config) error {
	if o.certFile == "" {
		made, err := selfSigned(o.name, o.certified)
		config.Certificates = []tls.Certificate{made}
		return err
	}
	read, err := latest(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
		return &pair, err
	})
	if err != nil {
		return fmt.Errorf("--tls-cert-file: %w", err)
	}
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return read(), nil }
	return nil
}

// latest reads files, and returns how to get it again: as it is now, or as it was
// last if that cannot be read.
func latest[T any](read func() (*T, error)) (func() *T, error) {
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

func authoritiesOf(file string) (*x509.CertPool, error) {
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

// selfSigned makes a certificate for the node's name and addresses, for a year. An API server
// without --kubelet-certificate-authority takes it.
func selfSigned(name string, ips []string) (tls.Certificate, error) {
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
