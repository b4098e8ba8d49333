package debug_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/debug"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// TestTimeline: the drawing of a pod is a page that may ask for nothing, and no other page frames.
func TestTimeline(t *testing.T) {
	config := everything()
	config.Timeline = func(namespace, name string) (timeline.Timeline, bool) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		return timeline.Timeline{Pod: namespace + "/" + name, From: now, To: now.Add(time.Second)}, name == "web"
	}
	h, err := debug.New(config)
	require.NoError(t, err)
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/timeline/default/web": {200, `<h2 id="p0">default/web</h2>`},
		"/timeline/default/no":  {404, "there is no pod \"no\" in namespace \"default\" on this node; /pods lists the pods\n"},
		"/timeline/default/WEB": {404, "there is no pod \"WEB\" in namespace \"default\" on this node; /pods lists the pods\n"},
	} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost"+path, nil))
		assert.Equal(t, want.code, answer.Code, path)
		assert.Contains(t, answer.Body.String(), want.text, path)
		if want.code == 200 {
			assert.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
			assert.Regexp(t, `^default-src 'none'; .*; frame-ancestors 'none'$`, answer.Header().Get("Content-Security-Policy"))
			assert.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))
		}
	}
	config.Timeline = nil
	h, err = debug.New(config)
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost/timeline/default/web", nil))
	assert.Equal(t, 404, answer.Code)
}
