package debug

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
)

// finder finds containers for people.
type finder interface {
	// ContainerID finds the container of a pod that was made last, or with previous
	// the one before it. Without its name it is the one that people mean. An error
	// that wraps runtime.ErrNotFound says what is not there.
	ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// container is what the path names, as far as anything could be called so.
func container(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isName(namespace) && isName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// found finds the container that the path names, or answers why not.
func found(w http.ResponseWriter, r *http.Request, f finder, previous bool) (id string, ok bool) {
	namespace, pod, name, ok := container(r)
	if !ok {
		say(w, http.StatusNotFound, "nothing could be called so; /pods lists the pods there are\n")
		return "", false
	}
	id, err := f.ContainerID(r.Context(), namespace, pod, name, previous)
	if err != nil {
		refuse(w, err)
		return "", false
	}
	return id, true
}

// refuse answers with an error, and with a status that fits.
func refuse(w http.ResponseWriter, err error) {
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
	say(w, code, plain.Text(err.Error())+"\n")
}
