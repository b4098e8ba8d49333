package localapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Credentials are the secrets of a Service: a CA, with which a server proves its identity, and the
// token by which clients prove theirs.
type Credentials struct {
	// Token is the bearer token of the one user.
	Token string
	ca    []byte // PEM
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate // of the CA
}

const (
	// caLifetime is how long the CA is valid. With it kept, kubeconfig files stay valid.
	caLifetime = 10 * 365 * 24 * time.Hour
	// certLifetime is how long a certificate of a server is valid; each process makes one.
	certLifetime = 5 * 365 * 24 * time.Hour
	// tokenBytes is how much chance is in a token.
	tokenBytes = 32
)

// ErrBadCredentials says that a text has no credentials that a Service can use: it is damaged, or its
// CA is no longer valid.
var ErrBadCredentials = errors.New("these are no usable credentials")

// earliestNow is a time before this program was written. A clock that shows an earlier time, as one
// does that has lost its battery, is not set yet.
var earliestNow = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// savedCredentials are Credentials as they are kept: they are secret.
type savedCredentials struct {
	Token string `json:"token"`
	CA    string `json:"ca"`  // PEM
	Key   string `json:"key"` // PEM
}

// NewCredentials makes new Credentials.
func NewCredentials() (*Credentials, error) {
	return newCredentials(certificate("podkeel", time.Now(), caLifetime))
}

// newCredentials makes credentials with a CA by a template.
func newCredentials(template *x509.Certificate) (*Credentials, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	secret := make([]byte, tokenBytes)
	_, _ = rand.Read(secret) // It never fails.
	cert, err := x509.ParseCertificate(der)
	return &Credentials{Token: fmt.Sprintf("%x", secret), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: key, cert: cert}, err
}

// ParseCredentials reads what Marshal has returned, so that kubeconfig files stay valid over
// restarts. The error is ErrBadCredentials and names the fault of the text, without the secrets
// in it; Credentials whose CA is no longer valid are an error, too.
func ParseCredentials(text []byte) (*Credentials, error) {
	bad := func(why string) error { return fmt.Errorf("localapi: %w: %s", ErrBadCredentials, why) }
	var s savedCredentials
	if json.Unmarshal(text, &s) != nil || len(s.Token) < tokenBytes {
		return nil, bad("they are not in JSON, or have no token")
	}
	pair, err := tls.X509KeyPair([]byte(s.CA), []byte(s.Key))
	if err != nil {
		return nil, bad("CA and key are no pair")
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	switch {
	case !ok || err != nil || !cert.IsCA:
		return nil, bad("the CA is none")
	case time.Now().After(cert.NotAfter):
		return nil, bad("the CA has expired on " + cert.NotAfter.UTC().Format(time.DateOnly))
	}
	return &Credentials{Token: s.Token, ca: []byte(s.CA), key: key, cert: cert}, nil
}

// Marshal returns the credentials, secrets included, for a file of mode 0600.
func (c *Credentials) Marshal() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	return json.Marshal(savedCredentials{c.Token, string(c.ca), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))})
}

// TLS returns the configuration of a server that is asked for by these names and addresses;
// localhost and the loopback addresses are added. It has HTTP/1.1 only, as streams need it.
func (c *Credentials) TLS(hosts ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	template := certificate("podkeel-api", time.Now(), certLifetime)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if host != "" {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	}, nil
}

// certificate is a template. It is valid from an hour ago, as clocks differ. Where the clock is not set
// yet, the certificate is valid from then until its lifetime after the program was written, so that
// setting the clock does not expire it.
func certificate(name string, now time.Time, lifetime time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // It never fails.
	end := now
	if end.Before(earliestNow) {
		end = earliestNow
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: end.Add(lifetime)}
}

// Kubeconfig returns a kubeconfig, in JSON, which is YAML too, for a server at an address
// such as 127.0.0.1:6443. It has the token: it is for a file of mode 0600.
func (c *Credentials) Kubeconfig(address string) []byte {
	type object = map[string]any
	const name = "podkeel"
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	_ = out.Encode(object{ // Texts only.
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": "https://" + address, "certificate-authority-data": c.ca}}},
		"users":    []object{{"name": name, "user": object{"token": c.Token}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name, "namespace": "default"}}},
	})
	return text.Bytes()
}
