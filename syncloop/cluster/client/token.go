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
	// minTokenReadInterval is the minimum time between two reads of a token file.
	minTokenReadInterval = time.Second
	// maxTokenBytes bounds a token.
	maxTokenBytes = 1 << 20
)

// tokenFile is a file with the bearer token. It is read every ten seconds while there are calls, and after the server
// has refused the token. Another program replaces the file.
type tokenFile struct {
	path string

	mu       sync.Mutex
	lastRead time.Time // of the last read
	token    string
}

// newTokenFile returns nil if the configuration has no token file, and an error if the file has no token yet.
func newTokenFile(cfg *rest.Config) (*tokenFile, error) {
	if cfg.BearerTokenFile == "" {
		return nil, nil
	}
	f := &tokenFile{path: cfg.BearerTokenFile, token: strings.TrimSpace(cfg.BearerToken)}
	if f.token != "" {
		return f, nil
	}
	var err error
	if f.token, err = f.readToken(); err != nil {
		return nil, err
	}
	f.lastRead = time.Now()
	return f, nil
}

// currentToken returns the token for a call.
func (f *tokenFile) currentToken() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshLocked(rereadPeriod)
	return f.token
}

// tokenAfterRefusal returns the token for a retry after the server has refused a token. ok is false if the file has no
// other token.
func (f *tokenFile) tokenAfterRefusal(refused string) (token string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == refused {
		f.refreshLocked(minTokenReadInterval)
	}
	return f.token, f.token != refused
}

// refreshLocked reads the file, unless it was read within the period. An unreadable or empty file keeps the old token.
func (f *tokenFile) refreshLocked(period time.Duration) {
	now := time.Now()
	if now.Sub(f.lastRead) < period {
		return
	}
	f.lastRead = now
	if token, err := f.readToken(); err == nil {
		f.token = token
	}
}

// readToken reads the token file.
func (f *tokenFile) readToken() (string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTokenBytes {
		return "", fmt.Errorf("client: the token file %s is not a regular file of at most %d bytes", f.path, maxTokenBytes)
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

// tokenTransport adds the token of a file to each call.
type tokenTransport struct {
	file *tokenFile
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. A request that is refused with 401 was not executed, so it is sent once more
// if the file has another token.
func (b *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return b.next.RoundTrip(r)
	}
	token := b.file.currentToken()
	answer, err := b.next.RoundTrip(withToken(r, r.Body, token))
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return answer, err
	}
	token, ok := b.file.tokenAfterRefusal(token)
	body, err := bodyForRetry(r)
	if !ok || err != nil {
		return answer, nil
	}
	_ = answer.Body.Close()
	return b.next.RoundTrip(withToken(r, body, token))
}

// withToken returns a copy of r with a body and a token.
func withToken(r *http.Request, body io.ReadCloser, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Body = body
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// bodyForRetry returns the body of a request for sending it again.
func bodyForRetry(r *http.Request) (io.ReadCloser, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("client: the request body cannot be read again")
	}
	return r.GetBody()
}
