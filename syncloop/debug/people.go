package debug

import (
	"context"
	"errors"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
)

// ContainerFinder finds containers by the names that people use: a node.Node.
type ContainerFinder interface {
	// ContainerID returns the ID of the container of a pod that was created last, or
	// with previous the one before it. Without the name of a container it is the one
	// that kubectl would take. It is called once for each request, concurrently. An
	// error that wraps runtime.ErrNotFound says what does not exist, and becomes a 404.
	ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// container is what the path names, as far as anything could be called so.
func container(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isName(namespace) && isName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// found finds the container that the path names, or answers why not.
func found(w http.ResponseWriter, r *http.Request, f ContainerFinder, previous bool) (id string, ok bool) {
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

// streamer answers requests about containers with what is written as it comes, so many
// of them at once.
type streamer struct {
	finder ContainerFinder
	gate   gate
}

// serve finds the container that the path names, and sends what write writes. It
// reports whether that was complete.
func (s *streamer) serve(w http.ResponseWriter, r *http.Request, previous bool, write func(id string, out io.Writer) error) (complete bool) {
	if !s.gate.enter(w) {
		return false
	}
	defer s.gate.leave()
	id, ok := found(w, r, s.finder, previous)
	if !ok {
		return false
	}
	out := newStream(w)
	err := write(id, out)
	if r.Context().Err() != nil {
		return false // Nobody is left to tell.
	}
	out.end(err)
	return err == nil
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
