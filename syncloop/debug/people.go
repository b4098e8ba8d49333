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

// namesFromPath returns the namespace, pod and container in the path of a request; the container may be empty.
// ok is false if no Kubernetes object can have such a name.
func namesFromPath(r *http.Request) (namespace, pod, name string, ok bool) {
	namespace, pod, name = r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	ok = isValidName(namespace) && isValidName(pod) && (name == "" || len(validation.IsDNS1123Label(name)) == 0)
	return namespace, pod, name, ok
}

// findContainerIDOrRespond returns the ID of the container that the path names. If it cannot find the
// container, it responds with an error and returns false.
func findContainerIDOrRespond(w http.ResponseWriter, r *http.Request, f ContainerFinder, previous bool) (id string, ok bool) {
	namespace, pod, name, ok := namesFromPath(r)
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

// streamFromContainer finds the container that the path names, calls write, and streams its output to the
// client. It sends an error in the trailer, or as the response if no output was written; too many requests at
// once also get an error. It returns true only if write has succeeded and the client is still connected.
func (s *streamer) streamFromContainer(w http.ResponseWriter, r *http.Request, previous bool, write func(id string, out io.Writer) error) (complete bool) {
	if !s.gate.Enter(w) {
		return false
	}
	defer s.gate.Leave()
	id, ok := findContainerIDOrRespond(w, r, s.finder, previous)
	if !ok {
		return false
	}
	out := newStreamWithTrailers(w)
	err := write(id, out)
	if r.Context().Err() != nil {
		return false // The client has disconnected.
	}
	finishStreamOrError(w, out, err)
	return err == nil
}

// explainHandler returns the handler of /explain, which responds with the explanation of a pod as text or JSON.
// For an unknown pod it responds with 404 and the manifest faults that may be the cause, and for an unknown
// format with 400.
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
			respondUnknownPod(w, namespace, name, describeFirstManifestFaultsPodFirst(config, name))
		case format == "json":
			respond.WriteJSON(w, page)
		default:
			respond.WriteText(w, http.StatusOK, plain.Text(page.String()))
		}
	}
}

// respondUnknownPod responds with 404 and that there is no such pod, followed by faults.
func respondUnknownPod(w http.ResponseWriter, namespace, name, faults string) {
	respond.WriteText(w, http.StatusNotFound, fmt.Sprintf("there is no pod %.253q in namespace %.253q on this node; /pods lists the pods\n%s", name, namespace, faults))
}

// isValidName reports whether a pod or a namespace can have this name.
func isValidName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// requestedFormat returns "text" or "json": the format in the query or, if it has none, the first of them in
// the Accept header. The default is "text". ok is false if the query has another format.
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
