package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

// web is a server without a network: a func returns the answer, in virtual time.
type web struct {
	mu       sync.Mutex
	answer   func(r *http.Request) (*http.Response, error)
	requests []string // method, URL and If-None-Match of each, with the time
	began    time.Time
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	w.requests = append(w.requests, strings.TrimSpace(fmt.Sprintf("%v %s %s", time.Since(w.began), r.URL, r.Header.Get("If-None-Match"))))
	answer := w.answer
	w.mu.Unlock()
	response, err := answer(r)
	if response != nil {
		response.Request = r
	}
	return response, err
}

func (w *web) set(answer func(r *http.Request) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// says returns an answer with a status, a body and headers.
func says(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// open returns a source for the web, and a list of the problems that the source reports.
func (w *web) open(t *testing.T, c manifest.URLConfig) (*manifest.URLSource, *[]string) {
	c.URL, c.NodeName, c.Transport = "https://user:secret@example.com/pods.yaml?token=secret", "N1", w
	c.Jitter = func() float64 { return 0.5 }
	problems := &[]string{}
	c.Report = func(p manifest.Problem) {
		assert.NotContains(t, p.String()+p.Path, "secret")
		*problems = append(*problems, fmt.Sprintf("%s kept=%v", p, p.Kept))
	}
	s, err := manifest.NewURL(c)
	require.NoError(t, err)
	return s, problems
}

// TestURL_Promises: the conformance kit for sources, with a server that answers or fails.
func TestURL_Promises(t *testing.T) {
	for name, broken := range map[string]func(*http.Request) (*http.Response, error){
		"error page": says(200, "<html><body>502 Bad Gateway</body></html>"),
		"status":     says(503, "busy"),
		"refused":    func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"no body":    says(204, ""),
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.RunInBubble(t, func(t *testing.T) sourcetest.Harness {
				w := &web{}
				s, _ := w.open(t, manifest.URLConfig{})
				return sourcetest.Harness{
					Source: s, Timeout: time.Minute, Pause: time.Minute,
					Set: func(pods []*v1.Pod) error {
						w.set(says(200, string(listOf(t, pods))))
						return nil
					},
					Break: func() error { w.set(broken); return nil },
				}
			})
		})
	}
}

// TestURL_CF10_CF12_CF16_Identity: the UID depends on the manifest and the URL, and there is no toleration.
func TestURL_CF10_CF12_CF16_Identity(t *testing.T) {
	w := &web{answer: says(200, podYAML("web", "nginx"))}
	s, problems := w.open(t, manifest.URLConfig{})
	snapshot, err := s.Poll(t.Context())
	require.NoError(t, err)
	require.Len(t, snapshot.Pods, 1)
	pod := snapshot.Pods[0]
	assert.Equal(t, "default/web-n1 on n1", pod.Namespace+"/"+pod.Name+" on "+pod.Spec.NodeName)
	assert.Len(t, pod.UID, 32)
	assert.Equal(t, string(pod.UID), pod.Annotations[podmanager.ConfigHashAnnotation])
	assert.Empty(t, pod.Spec.Tolerations)
	assert.Empty(t, *problems)

	other, err := manifest.NewURL(manifest.URLConfig{URL: "https://user:secret@example.com/pods.yaml?token=secret", NodeName: "n2", Transport: w})
	require.NoError(t, err)
	snapshot, err = other.Poll(t.Context())
	require.NoError(t, err)
	assert.Equal(t, pod.UID, snapshot.Pods[0].UID, "the node is not part of it")
	other, err = manifest.NewURL(manifest.URLConfig{URL: "https://example.com/pods.yaml", NodeName: "n1", Transport: w})
	require.NoError(t, err)
	snapshot, err = other.Poll(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, pod.UID, snapshot.Pods[0].UID)
}

// TestURL_CF16_F38_OtherAnswers: the last good answer stays after any other answer, and each problem is reported
// once.
func TestURL_CF16_F38_OtherAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: says(200, podYAML("web", "one"), "ETag", `"1"`)}
		s, problems := w.open(t, manifest.URLConfig{})
		got := runURL(t, s)
		assert.Equal(t, "web-n1 one", <-got)
		for _, c := range []struct {
			answer func(*http.Request) (*http.Response, error)
			want   string
		}{
			{says(304, ""), ""},
			{says(204, ""), "manifest: cannot be fetched: the server answers 204 No Content"},
			{says(401, podYAML("evil", "x")), "cannot be fetched: the server answers 401 Unauthorized"},
			{says(500, ""), "the server answers 500 Internal Server Error"},
			{says(200, "<html>\n<p>sign in: please</html>"), `"<html>..."`},
			{says(200, ""), "empty"},
			{says(200, "{}"), "expected"},
			{says(200, podYAML("web", "two")[:60]), ""},
			{says(301, "", "Location", "https://user:secret@example.com/pods.yaml?token=secret"), "more than 5 redirects"},
			{says(302, "", "Location", "http://example.com/"), "redirects from https to another scheme"},
			{func(*http.Request) (*http.Response, error) { return nil, errors.New("tls: certificate has expired") }, "certificate has expired"},
		} {
			*problems = nil
			w.set(c.answer)
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			assert.Empty(t, got)
			if c.want == "" {
				continue
			}
			require.Len(t, *problems, 1)
			assert.True(t, strings.HasSuffix((*problems)[0], " kept=true"), (*problems)[0])
			assert.True(t, strings.HasPrefix((*problems)[0], "https://example.com/pods.yaml: "), (*problems)[0])
		}
		w.set(says(200, podYAML("web", "two")))
		assert.Equal(t, "web-n1 two", <-got)
		w.set(says(200, "apiVersion: v1\nkind: PodList\nitems: []\n"))
		assert.Empty(t, <-got, "a list without pods says that there are none")
	})
}

// runURL runs a source until the test ends.
func runURL(t *testing.T, s *manifest.URLSource) sink {
	got := make(sink, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx, got) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
	return got
}

// TestURL_F37_Slow: a server that sends a byte now and then, or nothing, costs one timeout.
func TestURL_F37_Slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(drip{r.Context()})}, nil
		}}
		s, problems := w.open(t, manifest.URLConfig{})
		began := time.Now()
		snapshot, err := s.Poll(t.Context())
		assert.ErrorIs(t, err, manifest.ErrFetch)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Empty(t, snapshot.Pods)
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.Equal(t, []string{"https://example.com/pods.yaml: cannot be fetched: the answer is not whole: context deadline exceeded kept=false"}, *problems)
	})
}

// drip is an endless body with a byte every three seconds.
type drip struct{ ctx context.Context }

// Read implements io.Reader.
func (d drip) Read(p []byte) (int, error) {
	late, cancel := context.WithTimeout(d.ctx, 3*time.Second)
	defer cancel()
	<-late.Done()
	p[0] = '#'
	return 1, d.ctx.Err()
}

// TestURL_F37_Endless: a body is read up to the bound of a file.
func TestURL_F37_Endless(t *testing.T) {
	var read int
	status := 200
	w := &web{answer: func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(endless{&read})}, nil
	}}
	s, _ := w.open(t, manifest.URLConfig{})
	_, err := s.Poll(t.Context())
	assert.EqualError(t, err, "manifest: cannot be fetched: the answer is not whole: the answer has more than 10 MiB")
	assert.Equal(t, manifest.MaxFileSize+1, read)
	read, status = 0, 500
	_, err = s.Poll(t.Context())
	assert.ErrorIs(t, err, manifest.ErrFetch)
	assert.Zero(t, read, "error pages are for browsers")
}

type endless struct{ read *int }

// Read implements io.Reader.
func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	*e.read += len(p)
	return len(p), nil
}

// TestURL_F39_F40_Requests: requests to a server that changes its answer, and to a server that fails, are sent at the
// right times, with the ETag of the last document.
func TestURL_F39_F40_Requests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, n := &web{}, 0
		w.answer = func(r *http.Request) (*http.Response, error) {
			n++
			return says(200, podYAML("web", fmt.Sprint("v", n)), "ETag", fmt.Sprintf(`"%d"`, n))(r)
		}
		s, _ := w.open(t, manifest.URLConfig{Period: 10 * time.Second})
		got := runURL(t, s)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		assert.Len(t, got, 3, "one version in each period, and the last one then")
		w.set(says(503, ""))
		time.Sleep(60 * time.Second)
		synctest.Wait()
		var times []string
		for _, request := range w.requests {
			times = append(times, strings.ReplaceAll(request, "https://user:secret@example.com/pods.yaml?token=secret", "GET"))
		}
		assert.Equal(t, []string{
			"0s GET", `10s GET "1"`, `20s GET "2"`,
			`30s GET "3"`, `31s GET "3"`, `33s GET "3"`, `37s GET "3"`, `45s GET "3"`, `55s GET "3"`, `1m5s GET "3"`, `1m15s GET "3"`, `1m25s GET "3"`,
		}, times)
	})
}

// TestURL_KeptOverRestarts: the next process starts with the last good answer and its ETag, whether the server answers
// or not.
func TestURL_KeptOverRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: says(200, podYAML("web", "one"), "ETag", `"1"`)}
		s, _ := w.open(t, manifest.URLConfig{StateDir: dir})
		_, err := s.Poll(t.Context())
		require.NoError(t, err)
		w.set(says(200, "broken: ["))
		_, err = s.Poll(t.Context())
		require.NoError(t, err)

		w = &web{answer: says(500, "")}
		s, problems := w.open(t, manifest.URLConfig{StateDir: dir})
		got := runURL(t, s)
		assert.Equal(t, "web-n1 one", <-got)
		synctest.Wait()
		assert.Equal(t, []string{"https://example.com/pods.yaml: cannot be fetched: the server answers 500 Internal Server Error kept=true"}, *problems)
		assert.Equal(t, []string{`0s https://user:secret@example.com/pods.yaml?token=secret "1"`}, w.requests)
		w.set(says(304, ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, got)
	})
	info, err := os.Stat(filepath.Join(dir, "manifest-url.json"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(filepath.Join(dir, "manifest-url.json"))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "secret")

	// The saved answer of another URL is not used. A damaged one is reported and replaced.
	w := &web{answer: says(500, "")}
	other, err := manifest.NewURL(manifest.URLConfig{URL: "https://example.com/other", NodeName: "n1", StateDir: dir, Transport: w})
	require.NoError(t, err)
	snapshot, _ := other.Poll(t.Context())
	assert.Empty(t, snapshot.Pods)
	for _, damaged := range []string{"", "{", strings.Replace(string(text), `"sum":"`, `"sum":"0`, 1), strings.Replace(string(text), `"version":1`, `"version":2`, 1)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "manifest-url.json"), []byte(damaged), 0o600))
		w := &web{answer: says(200, podYAML("web", "two"))}
		s, problems := w.open(t, manifest.URLConfig{StateDir: dir})
		snapshot, err := s.Poll(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"web-n1"}, names(snapshot))
		assert.Equal(t, []string{"https://example.com/pods.yaml: cannot be kept over a restart: the file manifest-url.json is damaged kept=false"}, *problems)
		s, _ = w.open(t, manifest.URLConfig{StateDir: dir})
		w.set(says(500, ""))
		snapshot, _ = s.Poll(t.Context())
		assert.Equal(t, []string{"web-n1"}, names(snapshot), "it was replaced")
	}
}

// TestURL_CannotBeKept: a failure to save is reported once, retried with each answer, and has no other effect.
func TestURL_CannotBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	w := &web{answer: func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("If-None-Match") != "" {
			return says(304, "")(r)
		}
		return says(200, podYAML("web", "one"), "ETag", `"1"`)(r)
	}}
	s, problems := w.open(t, manifest.URLConfig{StateDir: dir})
	for range 2 {
		snapshot, err := s.Poll(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"web-n1"}, names(snapshot))
		_, found := s.FaultOf(snapshot.Pods[0].UID)
		assert.False(t, found, "the pod is as its author wants it")
	}
	require.NotEmpty(t, *problems)
	assert.Contains(t, (*problems)[0], "cannot be kept over a restart: ")
	assert.LessOrEqual(t, len(*problems), 2, "reading and writing")
	count := s.Faults().Count
	assert.Equal(t, 1, count)
	require.NoError(t, os.Remove(dir))
	_, err := s.Poll(t.Context())
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(dir, "manifest-url.json"))
	_, err = s.Poll(t.Context())
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(w.requests[3], ` "1"`), w.requests)
}

// TestNewURL_Config: the error names every fault.
func TestNewURL_Config(t *testing.T) {
	_, err := manifest.NewURL(manifest.URLConfig{
		URL: "ftp://example.com", NodeName: "a_b", Period: time.Millisecond, Timeout: -1, Header: http.Header{"a b": {"c"}, "D": {"e\nf"}},
	})
	assert.ErrorIs(t, err, manifest.ErrConfig)
	assert.Len(t, strings.Split(err.Error(), "\n"), 6, err)
	for _, address := range []string{"", "/pods.yaml", "https://", "https://a b", "http:x"} {
		_, err := manifest.NewURL(manifest.URLConfig{URL: address, NodeName: "n"})
		assert.EqualError(t, err, "manifest: bad config: URL: expected an address, as https://example.com/pods.yaml", address)
	}
}
