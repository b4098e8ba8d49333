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

// Credentials are the secrets of a Service: a CA that signs the server's certificate, and the bearer token of clients.
type Credentials struct {
	// Token is the bearer token of the one user.
	Token string
	ca    []byte // PEM
	key   *ecdsa.PrivateKey
	cert  *x509.Certificate // of the CA
}

const (
	// caLifetime is how long the CA is valid. The CA is stored, so kubeconfig files stay valid across restarts.
	caLifetime = 10 * 365 * 24 * time.Hour
	// certLifetime is how long a server certificate is valid. Each process makes its own.
	certLifetime = 5 * 365 * 24 * time.Hour
	// tokenBytes is the number of random bytes in a token.
	tokenBytes = 32
)

// ErrBadCredentials means that a Service cannot use the credentials: they are damaged, or their CA has expired.
var ErrBadCredentials = errors.New("these are no usable credentials")

// minPlausibleTime is a time before this program was written. A clock that shows an earlier time has not been set, for
// example because its battery is empty.
var minPlausibleTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// savedCredentials is the stored form of Credentials. It is secret.
type savedCredentials struct {
	Token string `json:"token"`
	CA    string `json:"ca"`  // PEM
	Key   string `json:"key"` // PEM
}

// NewCredentials generates a CA and a token.
func NewCredentials() (*Credentials, error) {
	return newCredentialsFromTemplate(certificateTemplate("podkeel", time.Now(), caLifetime))
}

// newCredentialsFromTemplate generates a random bearer token and a self-signed CA. It sets the CA fields of the
// template and uses the template for the CA certificate.
func newCredentialsFromTemplate(template *x509.Certificate) (*Credentials, error) {
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
	_, _ = rand.Read(secret) // rand.Read never fails.
	cert, err := x509.ParseCertificate(der)
	return &Credentials{Token: fmt.Sprintf("%x", secret), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: key, cert: cert}, err
}

// ParseCredentials parses the result of Marshal, so that kubeconfig files stay valid across restarts. It returns
// ErrBadCredentials with a description that contains no secret, also if the CA has expired.
func ParseCredentials(text []byte) (*Credentials, error) {
	bad := func(why string) error { return fmt.Errorf("localapi: %w: %s", ErrBadCredentials, why) }
	var s savedCredentials
	if json.Unmarshal(text, &s) != nil || len(s.Token) < tokenBytes {
		return nil, bad("they are not JSON, or have no token")
	}
	pair, err := tls.X509KeyPair([]byte(s.CA), []byte(s.Key))
	if err != nil {
		return nil, bad("the key does not match the CA")
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	switch {
	case !ok || err != nil || !cert.IsCA:
		return nil, bad("the certificate is not a CA")
	case time.Now().After(cert.NotAfter):
		return nil, bad("the CA has expired on " + cert.NotAfter.UTC().Format(time.DateOnly))
	}
	return &Credentials{Token: s.Token, ca: []byte(s.CA), key: key, cert: cert}, nil
}

// Marshal returns the credentials with their secrets. Store them in a file with mode 0600.
func (c *Credentials) Marshal() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	return json.Marshal(savedCredentials{c.Token, string(c.ca), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))})
}

// TLS returns the TLS configuration of a server with these host names and addresses, and with localhost and the
// loopback addresses. It offers only HTTP/1.1, because SPDY streams need it.
func (c *Credentials) TLS(hosts ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("localapi: %w", err)
	}
	template := certificateTemplate("podkeel-api", time.Now(), certLifetime)
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

// certificateTemplate returns the template of a certificate that is valid from one hour ago, because clocks
// differ, until one lifetime from now. If now is before minPlausibleTime, the lifetime begins at
// minPlausibleTime, so that the certificate is still valid after the clock is corrected.
func certificateTemplate(name string, now time.Time, lifetime time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // rand.Int never fails here.
	end := now
	if end.Before(minPlausibleTime) {
		end = minPlausibleTime
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: end.Add(lifetime)}
}

// Kubeconfig returns a kubeconfig in JSON, which is also YAML, for a server at an address such as 127.0.0.1:6443. It
// contains the token. Store it in a file with mode 0600.
func (c *Credentials) Kubeconfig(address string) []byte {
	type object = map[string]any
	const name = "podkeel"
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	_ = out.Encode(object{ // Strings cannot fail.
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": "https://" + address, "certificate-authority-data": c.ca}}},
		"users":    []object{{"name": name, "user": object{"token": c.Token}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name, "namespace": "default"}}},
	})
	return text.Bytes()
}
