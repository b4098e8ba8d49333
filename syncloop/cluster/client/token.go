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

// newTokenFileIfConfigured returns the token file of a configuration, or nil if it has none. Unless the
// configuration also has a token, it reads the file and returns an error if the file has no token.
func newTokenFileIfConfigured(cfg *rest.Config) (*tokenFile, error) {
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

// rereadIfDueAndGetToken returns the newest token. If the last read is at least rereadPeriod ago, it reads the file
// again first.
func (f *tokenFile) rereadIfDueAndGetToken() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rereadIfDueLocked(rereadPeriod)
	return f.token
}

// rereadTokenAfterRefusal returns a token other than the refused one. It reads the file again, at most once per
// minTokenReadInterval, but not if the stored token differs from the refused one already. ok is false if there
// is no other token.
func (f *tokenFile) rereadTokenAfterRefusal(refused string) (token string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == refused {
		f.rereadIfDueLocked(minTokenReadInterval)
	}
	return f.token, f.token != refused
}

// rereadIfDueLocked reads the file and stores its token, unless the last read was less than period ago. If the
// file is unreadable or empty, the old token stays.
func (f *tokenFile) rereadIfDueLocked(period time.Duration) {
	now := time.Now()
	if now.Sub(f.lastRead) < period {
		return
	}
	f.lastRead = now
	if token, err := f.readToken(); err == nil {
		f.token = token
	}
}

// readToken returns the trimmed content of the token file. It returns an error if the file is not regular, too
// large or empty.
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
	token := b.file.rereadIfDueAndGetToken()
	answer, err := b.next.RoundTrip(withToken(r, r.Body, token))
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return answer, err
	}
	token, ok := b.file.rereadTokenAfterRefusal(token)
	body, err := bodyForRetry(r)
	if !ok || err != nil {
		return answer, nil
	}
	_ = answer.Body.Close()
	return b.next.RoundTrip(withToken(r, body, token))
}

// withToken returns a copy of r with this body and the token as its bearer token.
func withToken(r *http.Request, body io.ReadCloser, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Body = body
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// bodyForRetry returns a new reader of a request's body, or an empty body unchanged. It returns an error if the
// body can be read only once.
func bodyForRetry(r *http.Request) (io.ReadCloser, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("client: the request body cannot be read again")
	}
	return r.GetBody()
}
