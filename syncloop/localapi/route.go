package localapi

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; path {
	case "/healthz", "/livez", "/readyz":
		a.health(w, path)
		return
	}
	if err := a.authenticated(r); err != nil {
		w.Header().Set("Connection", "close") // Nothing more is read of a request that was refused.
		sendError(w, err)
		return
	}
	path, isCore := strings.CutPrefix(r.URL.Path, "/api/v1/")
	switch {
	case isCore && path != "":
		a.serveCore(w, r, strings.Split(path, "/"))
	case r.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		a.reviewSelf(w, r)
	case strings.HasPrefix(r.URL.Path, metricsPath):
		a.serveMetrics(w, r)
	case r.Method != http.MethodGet:
		sendError(w, errNoSuchPath())
	case strings.HasPrefix(r.URL.Path, "/openapi/v3"):
		a.openAPI(w, r)
	default:
		a.discover(w, r)
	}
}

// health answers everyone, without a reason for what is wrong.
func (a *API) health(w http.ResponseWriter, path string) {
	err := a.config.Node.Healthy()
	if path == "/livez" {
		err = nil
	}
	if path == "/readyz" && err == nil && !a.isComplete() {
		err = errors.New("localapi: the node starts")
	}
	if err != nil {
		respond.Text(w, http.StatusInternalServerError, "the node is not healthy\n")
		return
	}
	respond.Text(w, http.StatusOK, "ok")
}

// target is what a path below /api/v1 names.
type target struct {
	resource                     *resource
	namespace, name, subresource string
}

// find finds the target of a path: RESOURCE[/NAME[/SUB]], with namespaces/NAMESPACE before it
// for what is in one.
func (a *API) find(parts []string) (t target, ok bool) {
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource = a.served[parts[0]]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	switch {
	case t.resource == nil || len(parts) > 3, len(parts) > 1 && t.name == "", t.namespace != "" && !t.resource.Namespaced:
	case t.name != "" && t.resource.Namespaced && t.namespace == "":
	default:
		return t, true
	}
	return t, false
}

// serveCore answers for the resources of the group "".
func (a *API) serveCore(w http.ResponseWriter, r *http.Request, parts []string) {
	t, ok := a.find(parts)
	switch {
	case !ok:
		sendError(w, errNoSuchPath())
	case !a.isComplete():
		sendError(w, errStarts())
	case t.subresource != "" && t.subresource != "status" && t.subresource != ephemeral:
		a.subresource(w, r, t)
	case r.Method == http.MethodGet:
		a.read(w, r, t)
	case t.resource.Name == "pods" && writeVerbs[r.Method] != "":
		a.write(w, r, t)
	default:
		sendError(w, errMethod(t.resource, cmp.Or(writeVerbs[r.Method], strings.ToLower(r.Method))))
	}
}

func errStarts() error {
	return apierrors.NewServiceUnavailable("the node starts: not every source of pods has been heard")
}

// read answers a GET of an object, of a list or of a watch.
func (a *API) read(w http.ResponseWriter, r *http.Request, t target) {
	v, err := a.newView(t.resource, r)
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
		a.watchAll(t.resource, v, w, r, o)
	case t.name != "":
		t.resource.getOne(v, w, t.namespace, t.name)
	default:
		o.namespace = t.namespace
		t.resource.getList(v, w, o)
	}
}

func (a *API) isComplete() bool {
	select {
	case <-a.complete:
		return true
	default:
		return false
	}
}
