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

// WriteText answers with a plain text that no browser interprets as HTML.
func WriteText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text) // A write error means that the client has disconnected.
}

// WriteError answers with an error and the status code for it.
func WriteError(w http.ResponseWriter, err error) {
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
	WriteText(w, code, plain.Text(err.Error())+"\n")
}

// maxLists is the maximum number of pod lists that are sent at the same time. Each holds copies of all pods.
const maxLists = 8

// PodListHandler returns a handler that answers with a list of pods.
func PodListHandler(all func() []*v1.Pod) http.HandlerFunc {
	gate := &Gate{Most: maxLists}
	return func(w http.ResponseWriter, _ *http.Request) {
		if !gate.Enter(w) {
			return
		}
		defer gate.Leave()
		pods := all()
		w.Header().Set("Content-Type", "application/json")
		list := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
		_ = WriteList(w, list, pods) // A write error means that the client has disconnected.
	}
}

// WriteList writes a list as JSON, item by item, so that a slow client costs the memory of one item and not of
// all. head is the list with an empty, non-nil items field, which must be its last field. If the first item
// cannot be encoded, nothing is written.
func WriteList[T any](w io.Writer, head any, items []T) error {
	const end = "]}"
	before, err := json.Marshal(head)
	for i, item := range items {
		var text []byte
		if err == nil {
			text, err = json.Marshal(item)
		}
		if err != nil {
			return err
		}
		if i == 0 {
			text = append(before[:len(before)-len(end)], text...)
		} else {
			text = append([]byte(","), text...)
		}
		if _, err = w.Write(text); err != nil {
			return err
		}
	}
	if len(items) > 0 {
		before = []byte(end)
	}
	if err == nil {
		_, err = w.Write(before)
	}
	return err
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		WriteText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // A write error means that the client has disconnected.
}

// Gate bounds the number of requests that are answered at the same time.
type Gate struct {
	inside atomic.Int32
	Most   int32
}

// Enter reports whether another request is allowed. If not, it answers with 503. After true the caller calls
// Leave.
func (g *Gate) Enter(w http.ResponseWriter) bool {
	if g.inside.Add(1) <= g.Most {
		return true
	}
	g.Leave()
	WriteText(w, http.StatusServiceUnavailable, fmt.Sprintf("%d such requests are in progress; stop one\n", g.Most))
	return false
}

// Leave releases the slot that Enter has taken.
func (g *Gate) Leave() { g.inside.Add(-1) }
