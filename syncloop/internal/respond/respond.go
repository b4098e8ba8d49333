package respond

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
)

// Text answers with a text that no browser takes for anything else.
func Text(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text) // If this fails the client has gone.
}

// Error answers with an error, and with a status that fits.
func Error(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, runtime.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, runtime.ErrWrongState):
		code = http.StatusConflict
	case errors.Is(err, runtime.ErrUnsupported):
		code = http.StatusNotImplemented
	case errors.Is(err, runtime.ErrNotReady):
		code = http.StatusServiceUnavailable
	}
	Text(w, code, plain.Text(err.Error())+"\n")
}

// Pods encodes before it answers, so that a fault is a status and not half a list.
func Pods(all func() []*v1.Pod) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		list := v1.PodList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
			Items:    []v1.Pod{},
		}
		for _, pod := range all() {
			list.Items = append(list.Items, *pod)
		}
		JSON(w, list)
	}
}

// JSON encodes a value.
func JSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		Text(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // If this fails the client has gone.
}

// Gate bounds how many requests are answered at once.
type Gate struct {
	inside atomic.Int32
	Most   int32
}

// Enter reports whether there is capacity for one more, or answers that there is none. After
// true the caller calls Leave.
func (g *Gate) Enter(w http.ResponseWriter) bool {
	if g.inside.Add(1) <= g.Most {
		return true
	}
	g.Leave()
	Text(w, http.StatusServiceUnavailable, fmt.Sprintf("%d of these are under way already: end one\n", g.Most))
	return false
}

// Leave ends what Enter began.
func (g *Gate) Leave() { g.inside.Add(-1) }
