package client_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

// TestClient_CF36_ARevokedToken: a call that is refused with 401 is sent once more if the token file has
// another token by then, with its body. The calls that follow, of all groups, use the new one.
func TestClient_CF36_ARevokedToken(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	valid := "old"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if seen = append(seen, r.Method+" "+token); len(body) > 0 {
			seen[len(seen)-1] += " with body"
		}
		status := http.StatusUnauthorized
		if token == valid {
			status = http.StatusNotFound
		}
		http.Error(w, "", status)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := client.New(&rest.Config{Host: server.URL, BearerToken: "old", BearerTokenFile: file, TLSClientConfig: rest.TLSClientConfig{
		CAData: ca, ServerName: "example.com",
	}}, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	_, err = c.Leases().Get(t.Context(), "n1")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	mu.Lock()
	valid = "new"
	mu.Unlock()
	require.NoError(t, os.WriteFile(file, []byte("new\n"), 0o600))
	c.TokenDue()
	_, err = c.Nodes().Create(t.Context(), &v1.Node{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = c.Leases().Get(t.Context(), "n1")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = c.PodFeed().Watch(t.Context(), apiserver.WatchOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"GET old", "POST old with body", "POST new with body", "GET new", "GET new"}, seen)
}

// tokens accepts only calls with the valid token, and counts the calls.
type tokens struct {
	valid   string
	refused int
}

func (s *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("")), Request: r}
	if r.Header.Get("Authorization") != "Bearer "+s.valid {
		answer.StatusCode = http.StatusUnauthorized
		s.refused++
	}
	return answer, nil
}

// TestClient_TheTokenFileIsReadSeldom: every ten seconds, and once a second while the server answers
// 401. A file that is empty or gone changes nothing. A body that cannot be read again is sent once.
func TestClient_TheTokenFileIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		write := func(token string) { require.NoError(t, os.WriteFile(file, []byte(token), 0o600)) }
		write("a")
		server := &tokens{valid: "a"}
		over, err := client.WithTokenFile(file, server)
		require.NoError(t, err)
		call := func() int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://server", bytes.NewReader([]byte("text")))
			require.NoError(t, err)
			answer, err := over.RoundTrip(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			return answer.StatusCode
		}
		assert.Equal(t, 200, call())
		server.valid = "b"
		time.Sleep(time.Second)
		assert.Equal(t, 401, call(), "the file has the old one")
		write("b")
		time.Sleep(time.Second - 1)
		assert.Equal(t, 401, call(), "it was read within the last second")
		time.Sleep(1)
		assert.Equal(t, 200, call())
		assert.Equal(t, 3, server.refused)

		write("c")
		server.valid = "c"
		time.Sleep(10 * time.Second)
		assert.Equal(t, 200, call())
		assert.Equal(t, 3, server.refused, "no call was refused")

		for _, broken := range []func(){func() { write(" \n") }, func() { require.NoError(t, os.Remove(file)) }, func() { require.NoError(t, os.Mkdir(file, 0o700)) }} {
			broken()
			time.Sleep(10 * time.Second)
			assert.Equal(t, 200, call())
		}
		require.NoError(t, os.Remove(file))
		write("d")
		server.valid = "d"
		time.Sleep(time.Second)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://server", io.NopCloser(strings.NewReader("text")))
		require.NoError(t, err)
		answer, err := over.RoundTrip(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		assert.Equal(t, 401, answer.StatusCode)
	})
}

// TestClient_NoToken: a token file that is missing or empty is an error at once, unless the
// configuration has a token to begin with.
func TestClient_NoToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	_, err := client.New(&rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: file}, "n1")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = client.New(&rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: file, BearerToken: "a"}, "n1")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = client.New(&rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: file}, "n1")
	require.ErrorContains(t, err, "is empty")
	_, err = client.New(&rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: file, BearerToken: "a", Username: "u", Password: "p"}, "n1")
	require.ErrorContains(t, err, "but not both")
}
