package localapi

import (
	"cmp"
	"errors"
	"net/http"
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
	a.router.serve(w, r, a.router.authenticated)
}

// router answers reads, and passes other requests on.
type router struct {
	*backend
	writer   *podWriter
	watches  *watchServer
	streamer *streamer
	metrics  *metricsServer
	reviewer *reviewer
}

// serve answers a request, whose user authenticated returns.
func (h *router) serve(w http.ResponseWriter, r *http.Request, authenticated func(*http.Request) (authenticationv1.UserInfo, error)) {
	switch path := r.URL.Path; path {
	case "/healthz", "/livez", "/readyz":
		h.health(w, path)
		return
	}
	user, err := authenticated(r)
	if err != nil {
		w.Header().Set("Connection", "close") // Nothing more is read of a request that was refused.
		sendError(w, err)
		return
	}
	h.serveUser(w, r, user)
}

// serveUser answers a request of a user.
func (h *router) serveUser(w http.ResponseWriter, r *http.Request, user authenticationv1.UserInfo) {
	group, path := h.objectPath(r.URL.Path)
	review := h.reviewer.reviews()[r.URL.Path]
	switch {
	case path != "":
		h.serveObjects(w, r, group, strings.Split(path, "/"))
	case review != nil:
		review(w, r, user)
	case strings.HasPrefix(r.URL.Path, metricsPath):
		h.metrics.serveMetrics(w, r)
	case strings.Count(r.URL.Path, "/") > 3 && strings.HasPrefix(r.URL.Path, "/apis/"): // The rest is discovery.
		sendNoResource(w, r.URL.Path)
	case r.Method != http.MethodGet:
		sendError(w, errNoSuchPath())
	case strings.HasPrefix(r.URL.Path, "/openapi/"):
		h.openAPI(w, r)
	default:
		h.discover(w, r)
	}
}

// objectPath returns the group of a path and the part after the group and version. Both are empty for a path
// that names no objects.
func (b *backend) objectPath(path string) (group, below string) {
	for _, r := range b.served {
		if below, ok := strings.CutPrefix(path, prefixOf(r.of)); ok {
			return r.of.Group, below
		}
	}
	return "", ""
}

// prefixOf returns the beginning of the paths of a group and version.
func prefixOf(of schema.GroupVersion) string {
	if of.Group == "" {
		return "/api/" + of.Version + "/"
	}
	return "/apis/" + of.String() + "/"
}

// health answers any client. It does not say what is wrong.
func (h *router) health(w http.ResponseWriter, path string) {
	err := h.config.Node.Health().Err
	if path == "/livez" {
		err = nil
	}
	if path == "/readyz" && err == nil && !h.isComplete() {
		err = errors.New("localapi: the node starts")
	}
	if err != nil {
		respond.Text(w, http.StatusInternalServerError, "the node is not healthy\n")
		return
	}
	respond.Text(w, http.StatusOK, "ok")
}

// target is the object or the list that a path below a group and version names.
type target struct {
	resource                     *resource
	namespace, name, subresource string
}

// find finds the target of a path in a group: RESOURCE[/NAME[/SUB]], with namespaces/NAMESPACE
// before it for what is in one.
func (b *backend) find(group string, parts []string) (t target, ok bool) {
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	if r := b.served[schema.GroupResource{Group: group, Resource: parts[0]}.String()]; r != nil && r.of.Group == group {
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

// serveObjects answers for the resources of a group.
func (h *router) serveObjects(w http.ResponseWriter, r *http.Request, group string, parts []string) {
	t, ok := h.find(group, parts)
	unavailable := h.unavailable()
	switch {
	case !ok && t.resource == nil:
		sendNoResource(w, r.URL.Path)
	case !ok:
		sendError(w, errNoSuchPath())
	case unavailable != nil:
		sendError(w, unavailable)
	case t.resource.Name == "pods" && t.subresource == evictions:
		h.writer.evict(w, r, t)
	case t.subresource != "" && t.subresource != statusSub && t.subresource != ephemeral:
		h.streamer.subresource(w, r, t)
	case r.Method == http.MethodGet:
		h.read(w, r, t)
	case t.resource.Name == "pods" && r.Method == http.MethodDelete && t.name == "" && t.namespace != "":
		h.writer.deleteMany(w, r, t)
	case t.resource.Name == "pods" && writeVerbs[r.Method] != "":
		h.writer.write(w, r, t)
	default:
		err := errMethod(t.resource, cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method)))
		err.ErrStatus.Message += whyFixed[t.resource.Name]
		sendError(w, err)
	}
}

// whyFixed says why clients cannot change an object of a resource.
var whyFixed = map[string]string{
	"namespaces": ": a namespace is there as long as a pod is in it",
	"nodes":      ": the node is as it was configured",
}

// unavailable is an error of code 503 before the API is complete and after Run has ended. The first
// says what the node waits for, and has a client of client-go try again after a second, ten times.
func (b *backend) unavailable() error {
	switch {
	case b.hasEnded():
		return apierrors.NewServiceUnavailable("the API of the node has ended")
	case b.isComplete():
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

// read answers a GET of an object, of a list or of a watch.
func (h *router) read(w http.ResponseWriter, r *http.Request, t target) {
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
		h.watches.watchAll(t.resource, v, w, r, o)
	case t.name != "":
		t.resource.getOne(v, w, t.namespace, t.name)
	default:
		o.namespace = t.namespace
		t.resource.getList(v, w, o)
	}
}

func (b *backend) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

func (b *backend) isComplete() bool {
	select {
	case <-b.complete:
		return true
	default:
		return false
	}
}
