package debug_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	h.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	return answer
}

func TestHandler(t *testing.T) {
	var sick, early error
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	list := []*v1.Pod{pod}
	h, err := debug.New(debug.Config{
		Pods:    func() []*v1.Pod { return list },
		Healthy: func() error { return sick },
		Ready:   func() error { return early },
	})
	require.NoError(t, err)

	assert.Equal(t, "ok", get(t, h, "GET", "/healthz").Body.String())
	assert.Equal(t, "ok", get(t, h, "GET", "/readyz").Body.String())

	sick, early = errors.New("pleg: no list for 4m0s"), errors.New("source file has not delivered")
	answer := get(t, h, "GET", "/healthz")
	assert.Equal(t, 503, answer.Code)
	assert.Equal(t, "pleg: no list for 4m0s\n", answer.Body.String())
	assert.Equal(t, 503, get(t, h, "GET", "/readyz").Code)

	var got v1.PodList
	answer = get(t, h, "GET", "/pods")
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	assert.Equal(t, "PodList", got.Kind)
	assert.Equal(t, []v1.Pod{*pod}, got.Items)
	assert.Equal(t, "application/json", answer.Header().Get("Content-Type"))

	list = nil
	assert.Contains(t, get(t, h, "GET", "/pods").Body.String(), `"items":[]`, "an empty list is not null")

	assert.Equal(t, 404, get(t, h, "GET", "/").Code)
	assert.Equal(t, 405, get(t, h, "POST", "/pods").Code)
}

func TestNew_NamesWhatIsMissing(t *testing.T) {
	_, err := debug.New(debug.Config{})
	assert.EqualError(t, err, "debug: Config.Pods, Healthy and Ready are all needed")
}

func ExampleNew() {
	ok := func() error { return nil }
	h, _ := debug.New(debug.Config{Pods: func() []*v1.Pod { return nil }, Healthy: ok, Ready: ok})
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "/healthz", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 ok
}
