package client

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// FilesDue has the next call read the files of the certificate.
func (c *Client) FilesDue() {
	for _, over := range []*connections{c.calls, c.heartbeat} {
		over.files.mu.Lock()
		over.files.lastRead = time.Time{}
		over.files.mu.Unlock()
	}
}

// TokenDue lets a call that is refused read the token file, as a second later.
func (c *Client) TokenDue() {
	f := c.calls.token
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastRead = f.lastRead.Add(-minTokenReadInterval)
}

// WithTokenFile adds the token of a file to the calls over a transport.
func WithTokenFile(path string, over http.RoundTripper) (http.RoundTripper, error) {
	f, err := newTokenFileIfConfigured(&rest.Config{BearerTokenFile: path})
	return &tokenTransport{f, over}, err
}
