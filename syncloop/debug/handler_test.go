package debug_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/debug"
)

func get(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request(method, path))
	return answer
}

// request is one of a client at this machine.
func request(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host = "127.0.0.1:10348"
	return r
}

func TestHandler(t *testing.T) {
	var sick, early error
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	list := []*v1.Pod{pod}
	h, err := debug.New(debug.Config{
		Pods:   func() []*v1.Pod { return list },
		Health: func() error { return sick },
		Ready:  func() error { return early },
	})
	require.NoError(t, err)

	assert.Equal(t, "ok", get(t, h, "GET", "/healthz").Body.String())
	assert.Equal(t, "ok", get(t, h, "GET", "/readyz").Body.String())

	sick, early = errors.New("pleg: no list for 4m0s"), errors.New("source file has not delivered")
	answer := get(t, h, "GET", "/healthz")
	assert.Equal(t, 503, answer.Code)
	assert.Equal(t, "no list for 4m0s\n", answer.Body.String())
	assert.Equal(t, 503, get(t, h, "GET", "/readyz").Code)

	var got v1.PodList
	answer = get(t, h, "GET", "/pods")
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	assert.Equal(t, "PodList", got.Kind)
	assert.Equal(t, []v1.Pod{*pod}, got.Items)
	assert.Equal(t, "application/json", answer.Header().Get("Content-Type"))

	list = nil
	assert.Contains(t, get(t, h, "GET", "/pods").Body.String(), `"items":[]`, "an empty list is not null")

	assert.Equal(t, 404, get(t, h, "GET", "/none").Code)
	assert.Equal(t, 405, get(t, h, "POST", "/pods").Code)
}

// TestIndex: the root lists what can be asked, and /timeline the pods.
func TestIndex(t *testing.T) {
	config := everything()
	config.Pods = func() []*v1.Pod {
		return []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "z"}}}
	}
	h, err := debug.New(config)
	require.NoError(t, err)
	answer := get(t, h, "GET", "/")
	assert.Equal(t, 200, answer.Code)
	assert.Equal(t, `the paths of this node:
GET /explain/{namespace}/{name}
GET /healthz
GET /logs/{namespace}/{pod}
GET /logs/{namespace}/{pod}/{container}
GET /pods
GET /readyz
GET /timeline/{namespace}/{name}
POST /exec/{namespace}/{pod}
POST /exec/{namespace}/{pod}/{container}
`, answer.Body.String())
	for _, path := range []string{"/timeline", "/timeline/"} {
		assert.Equal(t, "the timelines of this node:\n/timeline/a/z\n/timeline/default/web\n", get(t, h, "GET", path).Body.String())
	}
	config.Timeline = nil
	h, err = debug.New(config)
	require.NoError(t, err)
	assert.Equal(t, 404, get(t, h, "GET", "/timeline").Code)
}

// page is an explanation.
type page struct {
	Sentence string `json:"sentence"`
}

func (p page) String() string { return p.Sentence + "\n" }

func TestExplain(t *testing.T) {
	ok := func() error { return nil }
	config := debug.Config{Pods: func() []*v1.Pod { return nil }, Health: ok, Ready: ok}
	h, err := debug.New(config)
	require.NoError(t, err)
	assert.Equal(t, 404, get(t, h, "GET", "/explain/default/web").Code, "nobody explains")

	config.Explain = func(namespace, name string) (fmt.Stringer, bool) {
		return page{namespace + "/" + name + " is Running"}, name != "gone"
	}
	h, err = debug.New(config)
	require.NoError(t, err)
	for accept, want := range map[string]string{
		"":                                  "default/web is Running\n",
		"*/*":                               "default/web is Running\n",
		"text/html, text/plain":             "default/web is Running\n",
		"application/json":                  `{"sentence":"default/web is Running"}`,
		"text/html, application/json;q=0.9": `{"sentence":"default/web is Running"}`,
	} {
		answer := httptest.NewRecorder()
		r := request("GET", "/explain/default/web")
		r.Header.Set("Accept", accept)
		h.ServeHTTP(answer, r)
		assert.Equal(t, 200, answer.Code)
		assert.Equal(t, want, answer.Body.String(), accept)
	}
	assert.Equal(t, `{"sentence":"default/web is Running"}`, get(t, h, "GET", "/explain/default/web?format=json").Body.String())
	assert.Equal(t, "format is text or json\n", get(t, h, "GET", "/explain/default/web?format=xml").Body.String())

	answer := get(t, h, "GET", "/explain/default/gone")
	assert.Equal(t, 404, answer.Code)
	assert.Equal(t, `there is no pod "gone" in namespace "default" on this node; /pods lists the pods`+"\n", answer.Body.String())
	assert.Equal(t, "text/plain; charset=utf-8", answer.Header().Get("Content-Type"))
	answer = get(t, h, "GET", "/explain/default/%1b%5b2J"+strings.Repeat("x", 5000))
	assert.Equal(t, 404, answer.Code)
	assert.Less(t, answer.Body.Len(), 400, "it says no more than a name could have")
	assert.NotContains(t, answer.Body.String(), "\x1b")
	assert.Equal(t, 404, get(t, h, "GET", "/explain/default").Code)
	assert.Equal(t, 200, get(t, h, "HEAD", "/explain/default/web").Code)
	assert.Equal(t, 405, get(t, h, "DELETE", "/explain/default/web").Code)
}

func TestNew_NamesWhatIsMissing(t *testing.T) {
	_, err := debug.New(debug.Config{})
	assert.EqualError(t, err, "debug: Config.Pods, Health and Ready are all needed")
}

// TestHandler_Figures: the handlers of the Config serve metrics and stats. Without them the paths are
// unknown.
func TestHandler_Figures(t *testing.T) {
	config := debug.Config{Pods: func() []*v1.Pod { return nil }, Health: func() error { return nil }, Ready: func() error { return nil }}
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	for _, want := range []string{"", "it is served"} {
		if want != "" {
			config.Metrics, config.ResourceMetrics, config.Stats = says(want+" at /metrics"), says(want+" at /metrics/resource"), says(want+" at /stats/summary")
		}
		h, err := debug.New(config)
		require.NoError(t, err)
		for _, path := range []string{"/metrics", "/metrics/resource", "/stats/summary"} {
			answer := get(t, h, "GET", path)
			if want == "" {
				assert.Equal(t, 404, answer.Code, path)
				continue
			}
			assert.Equal(t, want+" at "+path, answer.Body.String())
		}
	}
}
