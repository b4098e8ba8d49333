package localapi

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.router.serveRequest(w, r, a.router.authenticate)
}

// router serves reads, and passes writes, watches, streams, metrics and reviews to their servers.
type router struct {
	*backend
	writer   *podWriter
	watches  *watchServer
	streamer *streamer
	metrics  *metricsServer
	reviewer *reviewer
}

// serveRequest serves a health check without authentication. Each other request needs a user from authenticate;
// if that fails, it sends the error and closes the connection.
func (h *router) serveRequest(w http.ResponseWriter, r *http.Request, authenticate func(*http.Request) (authenticationv1.UserInfo, error)) {
	switch path := r.URL.Path; path {
	case "/healthz", "/livez", "/readyz":
		h.serveHealth(w, path)
		return
	}
	user, err := authenticate(r)
	if err != nil {
		w.Header().Set("Connection", "close") // The server need not read the body of a refused request.
		sendError(w, err)
		return
	}
	h.serveAuthenticated(w, r, user)
}

// serveAuthenticated routes a request of an authenticated user by its path, to objects, reviews, metrics,
// OpenAPI or discovery, or sends a 404. It checks no permission.
func (h *router) serveAuthenticated(w http.ResponseWriter, r *http.Request, user authenticationv1.UserInfo) {
	group, path := h.cutGroupVersionFromPath(r.URL.Path)
	review := h.reviewer.handlers()[r.URL.Path]
	switch {
	case path != "":
		h.serveObjects(w, r, group, strings.Split(path, "/"))
	case review != nil:
		review(w, r, user)
	case strings.HasPrefix(r.URL.Path, metricsPath):
		h.metrics.serveMetrics(w, r)
	case strings.Count(r.URL.Path, "/") > 3 && strings.HasPrefix(r.URL.Path, "/apis/"): // The rest is discovery.
		sendNoSuchResource(w, r.URL.Path)
	case r.Method != http.MethodGet:
		sendError(w, errNoSuchPath())
	case strings.HasPrefix(r.URL.Path, "/openapi/"):
		h.serveOpenAPI(w, r)
	default:
		h.serveDiscovery(w, r)
	}
}

// cutGroupVersionFromPath splits a path into the group and the part after the group and version. Both are empty
// if the path does not name objects.
func (b *backend) cutGroupVersionFromPath(path string) (groupName, below string) {
	for _, r := range b.served {
		if below, ok := strings.CutPrefix(path, groupVersionPrefix(r.groupVersion)); ok {
			return r.groupVersion.Group, below
		}
	}
	return "", ""
}

// groupVersionPrefix returns the path prefix of a group and version.
func groupVersionPrefix(groupVersion schema.GroupVersion) string {
	if groupVersion.Group == "" {
		return "/api/" + groupVersion.Version + "/"
	}
	return "/apis/" + groupVersion.String() + "/"
}

// serveHealth serves /healthz, /livez and /readyz. /livez always succeeds, and /readyz also requires that the
// node has reported all pods. The response does not say why the node is unhealthy.
func (h *router) serveHealth(w http.ResponseWriter, path string) {
	err := h.config.Node.Health().Err
	if path == "/livez" {
		err = nil
	}
	if path == "/readyz" && err == nil && !h.isReady() {
		err = errors.New("localapi: the node starts")
	}
	if err != nil {
		respond.WriteText(w, http.StatusInternalServerError, "the node is not healthy\n")
		return
	}
	respond.WriteText(w, http.StatusOK, "ok")
}

// target is the object or the list that a path names.
type target struct {
	resource                     *resource
	namespace, name, subresource string
}

// parseTarget parses the path of a request: RESOURCE[/NAME[/SUBRESOURCE]], with namespaces/NAMESPACE before it
// for namespaced resources. ok is false for an invalid path and for a resource that the API does not serve. In
// the second case the resource of the target is nil.
func (b *backend) parseTarget(group string, parts []string) (t target, ok bool) {
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	if r := b.served[schema.GroupResource{Group: group, Resource: parts[0]}.String()]; r != nil && r.groupVersion.Group == group {
		t.resource = r
	}
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	switch {
	case t.resource == nil || len(parts) > 3, len(parts) > 1 && t.name == "", t.namespace != "" && !t.resource.Namespaced:
	case t.subresource != "" && len(t.resource.subresources) == 0:
	case t.name != "" && t.resource.Namespaced && t.namespace == "":
	default:
		return t, true
	}
	return t, false
}

// serveObjects routes a request for objects of a group to the handler of evictions, streams, reads, collection
// deletes or pod writes. It sends an error if the path or the method is not supported, or if the API is not
// available.
func (h *router) serveObjects(w http.ResponseWriter, r *http.Request, group string, parts []string) {
	t, ok := h.parseTarget(group, parts)
	unavailable := h.checkAvailable()
	switch {
	case !ok && t.resource == nil:
		sendNoSuchResource(w, r.URL.Path)
	case !ok:
		sendError(w, errNoSuchPath())
	case unavailable != nil:
		sendError(w, unavailable)
	case t.resource.Name == "pods" && t.subresource == evictionSubresource:
		h.writer.serveEviction(w, r, t)
	case t.subresource != "" && !slices.Contains(writableSubresources, t.subresource):
		h.streamer.serveSubresource(w, r, t)
	case r.Method == http.MethodGet:
		h.serveRead(w, r, t)
	case t.resource.Name == "pods" && r.Method == http.MethodDelete && t.name == "" && t.namespace != "":
		h.writer.serveDeleteCollection(w, r, t)
	case t.resource.Name == "pods" && writeVerbs[r.Method] != "":
		h.writer.serveWrite(w, r, t)
	default:
		err := methodNotSupportedError(t.resource, cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method)))
		err.ErrStatus.Message += notWritableReasons[t.resource.Name]
		sendError(w, err)
	}
}

// notWritableReasons says why clients cannot write a resource. Each text continues the message of the 405.
var notWritableReasons = map[string]string{
	"namespaces": ": a namespace is there as long as a pod is in it",
	"nodes":      ": the node is as it was configured",
}

// checkAvailable returns an error with code 503 before the API is ready and after Run has returned. Before the API is
// ready, the error says what the node waits for and asks the client to retry after a second; client-go retries
// ten times.
func (b *backend) checkAvailable() error {
	switch {
	case b.hasEnded():
		return apierrors.NewServiceUnavailable("the API of the node has ended")
	case b.isReady():
		return nil
	}
	message := "the node starts"
	if waiting := b.config.Node.Health().Waiting; waiting != nil {
		message += ": " + plain.Text(strings.TrimPrefix(waiting.Error(), "node: "))
	}
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// serveRead serves a get, list or watch request.
func (h *router) serveRead(w http.ResponseWriter, r *http.Request, t target) {
	v, err := newView(t.resource, r, h.now)
	if err != nil {
		sendError(w, err)
		return
	}
	o, err := t.resource.parseOptions(r.URL.Query())
	switch {
	case err != nil:
		sendError(w, err)
	case o.watch:
		o.namespace, o.name = t.namespace, t.name
		h.watches.serveWatch(t.resource, v, w, r, o)
	case t.name != "":
		t.resource.serveObject(v, w, t.namespace, t.name)
	default:
		o.namespace = t.namespace
		t.resource.serveList(v, w, o)
	}
}

// hasEnded reports whether Run has returned.
func (b *backend) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// isReady reports whether the node has reported all desired pods.
func (b *backend) isReady() bool {
	select {
	case <-b.ready:
		return true
	default:
		return false
	}
}
