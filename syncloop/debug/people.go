package debug

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// ContainerFinder finds containers by the names that people use: a node.Containers.
type ContainerFinder interface {
	// ContainerID returns the ID of the container of a pod that was created last, or
	// with previous the one before it. Without the name of a container it is the one
	// that kubectl would take. It is called once for each request, concurrently. An
	// error that wraps runtime.ErrNotFound says what does not exist, and becomes a 404.
	ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// containerFromPath is what the path names, as far as anything could be called so.
func containerFromPath(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isValidName(namespace) && isValidName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// findContainer finds the container that the path names, or answers why not.
func findContainer(w http.ResponseWriter, r *http.Request, f ContainerFinder, previous bool) (id string, ok bool) {
	namespace, pod, name, ok := containerFromPath(r)
	if !ok {
		respond.WriteText(w, http.StatusNotFound, "nothing could be called so; /pods lists the pods there are\n")
		return "", false
	}
	id, err := f.ContainerID(r.Context(), namespace, pod, name, previous)
	if err != nil {
		respond.WriteError(w, err)
		return "", false
	}
	return id, true
}

// streamer answers requests about containers with what is written as it comes, so many
// of them at once.
type streamer struct {
	finder ContainerFinder
	gate   respond.Gate
}

// serve finds the container that the path names, and sends what write writes. It
// reports whether that was complete.
func (s *streamer) serve(w http.ResponseWriter, r *http.Request, previous bool, write func(id string, out io.Writer) error) (complete bool) {
	if !s.gate.Enter(w) {
		return false
	}
	defer s.gate.Leave()
	id, ok := findContainer(w, r, s.finder, previous)
	if !ok {
		return false
	}
	out := beginStream(w)
	err := write(id, out)
	if r.Context().Err() != nil {
		return false // Nobody is left to tell.
	}
	endStream(w, out, err)
	return err == nil
}

// explainHandler answers for one pod, in the form that was asked for.
func explainHandler(config Config) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		format, ok := requestedFormat(r)
		if !ok {
			respond.WriteText(w, http.StatusBadRequest, "format is text or json\n")
			return
		}
		namespace, name := r.PathValue("namespace"), r.PathValue("name")
		var page fmt.Stringer
		if ok = isValidName(namespace) && isValidName(name); ok {
			page, ok = config.Explain(namespace, name)
		}
		switch {
		case !ok:
			respondUnknownPod(w, namespace, name, describeFaults(config, name))
		case format == "json":
			respond.WriteJSON(w, page)
		default:
			respond.WriteText(w, http.StatusOK, plain.Text(page.String()))
		}
	}
}

// respondUnknownPod answers that there is no such pod. More may be why.
func respondUnknownPod(w http.ResponseWriter, namespace, name, faults string) {
	respond.WriteText(w, http.StatusNotFound, fmt.Sprintf("there is no pod %.253q in namespace %.253q on this node; /pods lists those there are\n%s", name, namespace, faults))
}

// isValidName: a pod or a namespace could be called so.
func isValidName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// requestedFormat is what the query says, or else what comes first in Accept. It is
// not ok if the query asks for something unknown.
func requestedFormat(r *http.Request) (format string, ok bool) {
	switch format = r.URL.Query().Get("format"); format {
	case "text", "json":
		return format, true
	case "":
	default:
		return "", false
	}
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(accepted, ";")
		switch strings.TrimSpace(kind) {
		case "application/json":
			return "json", true
		case "text/plain", "text/*", "*/*":
			return "text", true
		}
	}
	return "text", true
}
