package manifest_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// packed compresses a text with gzip.
func packed(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestFetch_F37_Compressed: the bound holds for the decompressed answer.
func TestFetch_F37_Compressed(t *testing.T) {
	body := packed(t, []byte(podYAML("web", "nginx")))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "gzip", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body)
	}))
	defer server.Close()
	s, err := manifest.NewURL(manifest.URLConfig{URL: server.URL, NodeName: "n1"})
	require.NoError(t, err)
	snapshot, err := s.Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"web-n1"}, names(snapshot))

	body = packed(t, make([]byte, 100<<20))
	assert.Less(t, len(body), 1<<20, "a bomb")
	snapshot, err = s.Poll(t.Context())
	assert.EqualError(t, err, "manifest: cannot be fetched: the answer is not whole: the answer has more than 10 MiB")
	assert.Equal(t, []string{"web-n1"}, names(snapshot))
}

// TestFetch_Redirects: the configured headers are sent to the configured host, and to no other host.
func TestFetch_Redirects(t *testing.T) {
	seen := map[string]http.Header{}
	pods := func(place string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen[place] = r.Header.Clone()
			seen[place].Set("Host", r.Host)
			w.Header().Set("ETag", `"1"`)
			_, _ = fmt.Fprint(w, podYAML("web", "nginx"))
		}
	}
	other := httptest.NewServer(pods("other"))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/there", pods("there"))
	server := httptest.NewServer(mux)
	defer server.Close()
	to := map[string]string{"/same": "/there", "/away": other.URL, "/around": "/away", "/loop": "/loop"}
	for from, target := range to {
		mux.Handle(from, http.RedirectHandler(target, http.StatusFound))
	}
	for path, place := range map[string]string{"/there": "there", "/same": "there", "/away": "other", "/around": "other"} {
		s, err := manifest.NewURL(manifest.URLConfig{
			URL: strings.Replace(server.URL, "http://", "http://user:secret@", 1) + path, NodeName: "n1",
			Header: http.Header{"X-Token": {"t1", "t2"}, "Authorization": {"Bearer t"}, "Host": {"pods.example"}},
		})
		require.NoError(t, err)
		for range 2 {
			clear(seen)
			snapshot, err := s.Poll(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []string{"web-n1"}, names(snapshot))
			require.Contains(t, seen, place)
			got := seen[place]
			if place == "other" {
				for _, name := range []string{"X-Token", "Authorization", "Referer", "If-None-Match"} {
					assert.NotContains(t, fmt.Sprint(got[name]), "t1", path)
					assert.NotContains(t, fmt.Sprint(got[name]), "secret", path)
				}
				assert.Empty(t, got["X-Token"])
				assert.Empty(t, got["Authorization"])
				assert.Empty(t, got["If-None-Match"])
				assert.Equal(t, strings.TrimPrefix(other.URL, "http://"), got.Get("Host"))
			} else {
				assert.Equal(t, []string{"t1", "t2"}, got["X-Token"])
				assert.Equal(t, "Bearer t", got.Get("Authorization"))
				assert.Equal(t, "pods.example", got.Get("Host"))
			}
		}
	}
	s, err := manifest.NewURL(manifest.URLConfig{URL: server.URL + "/loop", NodeName: "n1"})
	require.NoError(t, err)
	_, err = s.Poll(t.Context())
	assert.EqualError(t, err, "manifest: cannot be fetched: more than 5 redirects")
}
