package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// Config configures the handler. NodeName, Pods, Health, Finder, Authenticator and Authorizer are
// required.
type Config struct {
	// NodeName is the name of the node, for the Authorizer.
	NodeName string
	// Pods returns copies of all pods with their newest statuses, undesired pods first. It is called
	// for each request, concurrently, and must not block.
	Pods func() []*v1.Pod
	// Health returns nil if the node is healthy, or its error: Health().Err of a node.Node. It is
	// called like Pods.
	Health func() error
	// Finder finds containers and sandboxes: a node.Containers.
	Finder Finder
	// Logs reads logs, Exec runs commands, Attach connects with processes, PortForward with ports: a
	// node.Containers. If a field is nil or returns runtime.ErrUnsupported, the response is 501.
	Logs        runtime.LogReader
	Exec        runtime.ExecStreamer
	Attach      runtime.Attacher
	PortForward runtime.PortForwarder
	// Metrics serves /metrics, ResourceMetrics /metrics/resource, and Stats /stats/summary. Packages metrics
	// and stats have such handlers. For a nil handler the response is 501.
	Metrics, ResourceMetrics, Stats http.Handler
	// Configuration returns the effective configuration of the node, for /configz: a value that is
	// an object in JSON, as a KubeletConfiguration is, without secrets. It is called like Pods.
	// If it is nil, the response is 501.
	Configuration func() any
	// Authenticator and Authorizer decide which requests are served.
	Authenticator Authenticator
	Authorizer    Authorizer
}

// Finder finds containers and sandboxes of a pod by its UID, because several pods can have one name: a
// terminating pod and its successor. Its methods are called once for each request, concurrently. An
// error that wraps runtime.ErrNotFound names the missing object.
type Finder interface {
	// PodContainerID returns the ID of the newest container of this name in a pod, or with previous the
	// one before it.
	PodContainerID(ctx context.Context, uid types.UID, container string, previous bool) (string, error)
	// PodSandboxID returns the ID of the newest sandbox of a pod.
	PodSandboxID(ctx context.Context, uid types.UID) (string, error)
}

const (
	maxLogs     = 128
	maxCommands = 64
	maxForwards = 64
)

// server serves the requests.
type server struct {
	Config
	panics                   *contain.Guard
	logs, commands, forwards respond.Gate
}

// New makes the handler. It starts nothing. The error names the required fields.
func New(config Config) (http.Handler, error) {
	if config.NodeName == "" || config.Pods == nil || config.Health == nil || config.Finder == nil || config.Authenticator == nil || config.Authorizer == nil {
		return nil, errors.New("server: Config.NodeName, Pods, Health, Finder, Authenticator and Authorizer are all needed")
	}
	s := &server{Config: config, panics: contain.New(contain.Config{Package: "server"}), logs: respond.Gate{Most: maxLogs}, commands: respond.Gate{Most: maxCommands}, forwards: respond.Gate{Most: maxForwards}}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.serveHealthz)
	for _, r := range s.routesExceptHealthz() {
		mux.Handle(r.pattern, s.requireAccess(r))
	}
	return mux, nil
}

// route is a path, its handler and the rights that it needs.
type route struct {
	pattern      string   // pattern of http.ServeMux, without a method
	methods      []string // HTTP methods; nil: all
	subresources []string
	verb         string // empty: the verb of the method
	handle       http.HandlerFunc
}

// HTTP methods of routes.
var (
	onlyGet   = []string{http.MethodGet}
	getOrHead = []string{http.MethodGet, http.MethodHead}
	getOrPost = []string{http.MethodGet, http.MethodPost}
)

// proxy is the subresource that includes every other one.
const proxy = "proxy"

// notServed are the paths of a kubelet that this handler does not serve, with the methods that a
// kubelet supports there.
var notServed = map[string][]string{
	"run": nil, "checkpoint": nil, "flagz": nil, "statusz": nil,
	"runningpods": onlyGet, "debug": onlyGet, "logs": getOrPost,
}

// routesExceptHealthz returns all routes except /healthz. Paths that a kubelet has and this node does not serve
// have a handler that responds with 501.
func (s *server) routesExceptHealthz() []route {
	any, configz := []string{proxy}, notServedHandler("configz")
	if s.Configuration != nil {
		configz = s.serveConfigz
	}
	all := []route{
		{"/pods", onlyGet, []string{"pods", proxy}, "", respond.PodListHandler(s.Pods)},
		{"/configz", onlyGet, []string{"configz", proxy}, "", configz},
		{"/containerLogs/{namespace}/{pod}/{container}", onlyGet, any, "", s.serveLog},
		{"/", nil, any, "", func(w http.ResponseWriter, _ *http.Request) {
			respond.WriteText(w, http.StatusNotFound, "a node has no such path\n")
		}},
	}
	for name, methods := range notServed {
		all = append(all, route{"/" + name, methods, any, "", notServedHandler(name)}, route{"/" + name + "/", methods, any, "", notServedHandler(name)})
	}
	all = append(all, s.metricAndStatsRoutes()...)
	for pattern, handle := range map[string]http.HandlerFunc{
		"exec/{namespace}/{pod}/{container}": s.serveExec, "exec/{namespace}/{pod}/{uid}/{container}": s.serveExec,
		"attach/{namespace}/{pod}/{container}": s.serveAttach, "attach/{namespace}/{pod}/{uid}/{container}": s.serveAttach,
		"portForward/{namespace}/{pod}": s.servePortForward, "portForward/{namespace}/{pod}/{uid}": s.servePortForward,
	} {
		all = append(all, route{"/" + pattern, getOrPost, any, "create", handle})
	}
	return all
}

// metricAndStatsRoutes returns the routes below /metrics and /stats. A path without a configured handler gets
// one that responds with 501. Access needs the subresource metrics or stats of the node.
func (s *server) metricAndStatsRoutes() (all []route) {
	served := map[string]route{}
	for _, name := range []string{"metrics", "stats"} {
		for _, pattern := range []string{"/" + name, "/" + name + "/"} {
			served[pattern] = route{pattern, nil, []string{name}, "", notServedHandler(name)}
		}
	}
	add := func(name, pattern string, methods []string, h http.Handler) {
		if h != nil {
			served[pattern] = route{pattern, methods, []string{name}, "", h.ServeHTTP}
		}
	}
	add("metrics", "/metrics", getOrHead, s.Metrics)
	add("metrics", "/metrics/resource", getOrHead, s.ResourceMetrics)
	add("stats", "/stats/summary", onlyGet, s.Stats)
	return slices.Collect(maps.Values(served))
}

// notServedHandler returns a handler that responds with 501 and the name of the path.
func notServedHandler(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		respond.WriteText(w, http.StatusNotImplemented, "this node does not serve /"+name+"\n")
	}
}

// serveHealthz responds with 200 if the node is healthy, with 500 if it is not, and with 405 to other methods
// than GET and HEAD. It serves unauthenticated clients, so it does not show the error.
func (s *server) serveHealthz(w http.ResponseWriter, r *http.Request) {
	respond.PeerOf(r.Context()).Unknown()
	if !slices.Contains(getOrHead, r.Method) {
		respondMethodNotAllowed(w, getOrHead)
		return
	}
	if s.Health() != nil {
		respond.WriteText(w, http.StatusInternalServerError, "the node is not healthy\n")
		return
	}
	respond.WriteText(w, http.StatusOK, "ok")
}

// serveConfigz responds with the configuration of the node as JSON, under the key kubeletconfig that clients of
// kubelets expect.
func (s *server) serveConfigz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, private")
	respond.WriteJSON(w, map[string]any{"kubeletconfig": s.Configuration()})
}

// findPodOrRespond returns the pod that the path names by namespace and name, and by UID if the path has one.
// If there is none, it responds with 404 and returns false.
func (s *server) findPodOrRespond(w http.ResponseWriter, r *http.Request) (pod *v1.Pod, isFound bool) {
	namespace, name, uid := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("uid")
	found := selectMatchingPod(s.Pods(), func(p *v1.Pod) bool {
		return p.Namespace == namespace && p.Name == name && (uid == "" || string(p.UID) == uid)
	})
	if found == nil {
		known := len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
		if !known {
			name = "of that name"
		}
		respond.WriteText(w, http.StatusNotFound, "pod "+name+" is not on this node\n")
		return nil, false
	}
	return found, true
}

// selectMatchingPod returns the first matching pod that is neither being deleted nor terminated. If there is
// none, it returns the last matching pod, or nil. A pod that was deleted with force may still terminate here
// while another pod has its name.
func selectMatchingPod(pods []*v1.Pod, match func(*v1.Pod) bool) (found *v1.Pod) {
	for _, p := range pods {
		if !match(p) {
			continue
		}
		if found = p; p.DeletionTimestamp == nil && p.Status.Phase != v1.PodFailed && p.Status.Phase != v1.PodSucceeded {
			break
		}
	}
	return found
}
