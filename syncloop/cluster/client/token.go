package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// tokenPause is the shortest time between two reads of a token file.
	tokenPause = time.Second
	// maxToken bounds a token, in bytes.
	maxToken = 1 << 20
)

// tokenFile is a file with the bearer token of the calls. It is read every ten seconds while there
// are calls, and when the server has refused the token: another program replaces the file.
type tokenFile struct {
	path string

	mu    sync.Mutex
	at    time.Time // of the last read
	token string
}

// newTokenFile returns nil if the configuration names no token file. It returns an error if there is
// no token yet.
func newTokenFile(cfg *rest.Config) (*tokenFile, error) {
	if cfg.BearerTokenFile == "" {
		return nil, nil
	}
	f := &tokenFile{path: cfg.BearerTokenFile, token: strings.TrimSpace(cfg.BearerToken)}
	if f.token != "" {
		return f, nil
	}
	var err error
	if f.token, err = f.read(); err != nil {
		return nil, err
	}
	f.at = time.Now()
	return f, nil
}

// current is the token for a call.
func (f *tokenFile) current() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshLocked(filesPeriod)
	return f.token
}

// after is the token for a call that the server has refused with another one.
func (f *tokenFile) after(refused string) (token string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == refused {
		f.refreshLocked(tokenPause)
	}
	return f.token, f.token != refused
}

// refreshLocked reads the file unless that was done within the period. A file without a token, or that
// cannot be read, changes nothing.
func (f *tokenFile) refreshLocked(period time.Duration) {
	now := time.Now()
	if now.Sub(f.at) < period {
		return
	}
	f.at = now
	if token, err := f.read(); err == nil {
		f.token = token
	}
}

func (f *tokenFile) read() (string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxToken {
		return "", fmt.Errorf("client: the token file %s is not a regular file of at most %d bytes", f.path, maxToken)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("client: the token file %s is empty", f.path)
	}
	return token, nil
}

// bearer adds the token of a file to each call.
type bearer struct {
	file *tokenFile
	over http.RoundTripper
}

// RoundTrip implements http.RoundTripper. A call that is refused with 401 was not carried out, so it
// is sent once more if the file has another token.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return b.over.RoundTrip(r)
	}
	token := b.file.current()
	answer, err := b.over.RoundTrip(authorized(r, r.Body, token))
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return answer, err
	}
	token, ok := b.file.after(token)
	body, err := again(r)
	if !ok || err != nil {
		return answer, nil
	}
	_ = answer.Body.Close()
	return b.over.RoundTrip(authorized(r, body, token))
}

// authorized is r with a body and a token.
func authorized(r *http.Request, body io.ReadCloser, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Body = body
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// again is the body of a request that was sent before.
func again(r *http.Request) (io.ReadCloser, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("client: the body cannot be read again")
	}
	return r.GetBody()
}
