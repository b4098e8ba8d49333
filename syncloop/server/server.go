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

// Config is what the handler asks. NodeName, Pods, Health, Finder, Authenticator and
// Authorizer are required.
type Config struct {
	// NodeName is the name of the node, for the Authorizer.
	NodeName string
	// Pods returns copies of all pods with their newest status, those that are not desired any
	// more first. It is called for each request, concurrently, and must not block.
	Pods func() []*v1.Pod
	// Health returns nil, or what is wrong. It is called like Pods.
	Health func() error
	// Finder finds containers and sandboxes: a node.Containers.
	Finder Finder
	// Logs reads logs, Exec runs commands, Attach connects with processes, PortForward with
	// ports: a node.Containers. What is nil is answered with 501, and so is what returns
	// runtime.ErrUnsupported.
	Logs        runtime.LogReader
	Exec        runtime.ExecStreamer
	Attach      runtime.Attacher
	PortForward runtime.PortForwarder
	// Metrics answers /metrics, ResourceMetrics /metrics/resource, and Stats /stats/summary:
	// packages metrics and stats have some. What is nil is answered with 501.
	Metrics, ResourceMetrics, Stats http.Handler
	// Configuration returns the effective configuration of the node, for /configz: a value that is
	// an object in JSON, as a KubeletConfiguration is, without secrets. It is called like Pods.
	// Nil is answered with 501.
	Configuration func() any
	// Authenticator and Authorizer decide who may ask what.
	Authenticator Authenticator
	Authorizer    Authorizer
}

// Finder finds containers and sandboxes of a pod by its UID, as several pods may have one name: a
// pod that still terminates, and its successor. Its methods are called once for each request,
// concurrently. An error that wraps runtime.ErrNotFound says what does not exist.
type Finder interface {
	// PodContainerID returns the ID of the container of a pod that was created last, or with
	// previous the one before it.
	PodContainerID(ctx context.Context, uid types.UID, container string, previous bool) (string, error)
	// PodSandboxID returns the ID of the newest sandbox of a pod.
	PodSandboxID(ctx context.Context, uid types.UID) (string, error)
}

const (
	maxLogs     = 128
	maxCommands = 64
	maxForwards = 64
)

// server answers requests.
type server struct {
	Config
	panics                   *contain.Guard
	logs, commands, forwards respond.Gate
}

// New makes the handler. It starts nothing; the error names what is missing.
func New(config Config) (http.Handler, error) {
	if config.NodeName == "" || config.Pods == nil || config.Health == nil || config.Finder == nil || config.Authenticator == nil || config.Authorizer == nil {
		return nil, errors.New("server: Config.NodeName, Pods, Health, Finder, Authenticator and Authorizer are all needed")
	}
	s := &server{Config: config, panics: contain.New(contain.Config{Package: "server"}), logs: respond.Gate{Most: maxLogs}, commands: respond.Gate{Most: maxCommands}, forwards: respond.Gate{Most: maxForwards}}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.serveHealthz)
	for _, r := range s.routes() {
		mux.Handle(r.pattern, s.guardRoute(r))
	}
	return mux, nil
}

// route is what is asked of a node.
type route struct {
	pattern      string   // of http.ServeMux, without a method
	methods      []string // of HTTP; nil: all
	subresources []string
	verb         string // empty: that of the method
	handle       http.HandlerFunc
}

// Methods of routes.
var (
	onlyGet   = []string{http.MethodGet}
	getOrHead = []string{http.MethodGet, http.MethodHead}
	getOrPost = []string{http.MethodGet, http.MethodPost}
)

// proxy is the subresource that includes every other one.
const proxy = "proxy"

// notServed are the paths of a kubelet that this handler has not, with the methods that a kubelet
// takes there.
var notServed = map[string][]string{
	"run": nil, "checkpoint": nil, "flagz": nil, "statusz": nil,
	"runningpods": onlyGet, "debug": onlyGet, "logs": getOrPost,
}

// routes are all routes but that of the health.
func (s *server) routes() []route {
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
	all = append(all, s.metricRoutes()...)
	for pattern, handle := range map[string]http.HandlerFunc{
		"exec/{namespace}/{pod}/{container}": s.serveExec, "exec/{namespace}/{pod}/{uid}/{container}": s.serveExec,
		"attach/{namespace}/{pod}/{container}": s.serveAttach, "attach/{namespace}/{pod}/{uid}/{container}": s.serveAttach,
		"portForward/{namespace}/{pod}": s.servePortForward, "portForward/{namespace}/{pod}/{uid}": s.servePortForward,
	} {
		all = append(all, route{"/" + pattern, getOrPost, any, "create", handle})
	}
	return all
}

// metricRoutes are the routes of metrics and usage, each with a subresource of its own.
func (s *server) metricRoutes() (all []route) {
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

// notServedHandler refuses what the node has not.
func notServedHandler(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		respond.WriteText(w, http.StatusNotImplemented, "this node does not serve /"+name+"\n")
	}
}

// serveHealthz says whether the node is healthy, and not why: everyone may ask.
func (s *server) serveHealthz(w http.ResponseWriter, r *http.Request) {
	respond.PeerOf(r.Context()).Unknown()
	if !slices.Contains(getOrHead, r.Method) {
		rejectMethod(w, getOrHead)
		return
	}
	if s.Health() != nil {
		respond.WriteText(w, http.StatusInternalServerError, "the node is not healthy\n")
		return
	}
	respond.WriteText(w, http.StatusOK, "ok")
}

// serveConfigz answers with the configuration under the key by which clients of kubelets look for it.
func (s *server) serveConfigz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, private")
	respond.WriteJSON(w, map[string]any{"kubeletconfig": s.Configuration()})
}

// findPod is the pod that a path names, or an answer is sent that there is none.
func (s *server) findPod(w http.ResponseWriter, r *http.Request) (*v1.Pod, bool) {
	namespace, name, uid := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("uid")
	found := selectPod(s.Pods(), func(p *v1.Pod) bool {
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

// selectPod is the pod that clients mean of those that match, nil if none does: one that neither is being
// deleted nor has ended, or else the last. A pod that was deleted with force may still have to end here
// while another one has its name.
func selectPod(pods []*v1.Pod, match func(*v1.Pod) bool) (found *v1.Pod) {
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
