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

// ContainerFinder finds containers by the names of their pods. node.Containers implements it.
type ContainerFinder interface {
	// ContainerID returns the ID of the newest container of this name in a pod, or with previous the
	// one before it. Without the name of a container it uses the container that kubectl would choose.
	// It is called once for each request, concurrently. An error that wraps runtime.ErrNotFound names
	// the missing object, and becomes a 404.
	ContainerID(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// containerFromPath returns the names in the path of a request. ok is false if no object can have such
// a name.
func containerFromPath(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isValidName(namespace) && isValidName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// findContainer returns the ID of the container that the path names. If there is none, it responds with
// the error.
func findContainer(w http.ResponseWriter, r *http.Request, f ContainerFinder, previous bool) (id string, ok bool) {
	namespace, pod, name, ok := containerFromPath(r)
	if !ok {
		respond.WriteText(w, http.StatusNotFound, "no object can have this name; /pods lists the pods\n")
		return "", false
	}
	id, err := f.ContainerID(r.Context(), namespace, pod, name, previous)
	if err != nil {
		respond.WriteError(w, err)
		return "", false
	}
	return id, true
}

// streamer responds to requests about containers with a stream. gate limits the number of concurrent
// streams.
type streamer struct {
	finder ContainerFinder
	gate   respond.Gate
}

// serve finds the container of the path, and sends to the client what write writes. It reports whether
// the stream was complete.
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
		return false // The client has disconnected.
	}
	endStream(w, out, err)
	return err == nil
}

// explainHandler returns the handler of /explain, which responds in the requested format.
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

// respondUnknownPod responds that there is no such pod, followed by the faults that may be the cause.
func respondUnknownPod(w http.ResponseWriter, namespace, name, faults string) {
	respond.WriteText(w, http.StatusNotFound, fmt.Sprintf("there is no pod %.253q in namespace %.253q on this node; /pods lists the pods\n%s", name, namespace, faults))
}

// isValidName reports whether a pod or a namespace can have this name.
func isValidName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// requestedFormat returns the format in the query, or else the first known one in the Accept header. ok
// is false if the query has an unknown format.
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
