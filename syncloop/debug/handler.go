package debug

import (
	"errors"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/internal/respond"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Config has the sources of the handler's responses. Pods, Health and Ready are required.
type Config struct {
	// Pods returns copies of all pods with their newest statuses. It is called for each request,
	// concurrently, and must not block.
	Pods func() []*v1.Pod
	// Health returns nil if the node is healthy, or its error: Health().Err of a node.Node. It is
	// called like Pods.
	Health func() error
	// Ready returns nil if the node is ready, or an error that says what it waits for: Health().Waiting
	// of a node.Node. It is called like Pods.
	Ready func() error
	// Explain explains the state of a pod. The String of the result is for people, its JSON for
	// programs. It returns false for an unknown pod. It is called like Pods. Nil: there is no /explain.
	Explain func(namespace, name string) (fmt.Stringer, bool)
	// Faults returns the present faults of manifests, as node.Sources.Faults does. It is called like
	// Pods. Nil: there is no /faults.
	Faults func() []source.Faults
	// Timeline returns the timeline of a pod, which a recorder.Recorder has. It returns false for an
	// unknown pod. It is called like Pods. Nil: there is no /timeline.
	Timeline func(namespace, name string) (timeline.Timeline, bool)
	// Logs finds containers and reads their logs: a node.Containers. Nil: there is no /logs.
	Logs LogReader
	// Exec finds containers and runs commands in them: a node.Containers. Nil: /exec is off. Otherwise
	// every process on this machine that can reach the handler can run any command in the containers.
	Exec CommandRunner
	// Metrics serves /metrics, ResourceMetrics /metrics/resource, and Stats /stats/summary. Packages
	// metrics and stats have such handlers. Nil: there is no such path.
	Metrics, ResourceMetrics, Stats http.Handler
	// Hosts are the names, without ports, that a request may have as its Host, besides IP addresses and
	// localhost. A request with any other Host is rejected, because a page in a browser can make a name
	// of its own resolve to this machine.
	Hosts []string
	// PrivatePathsHint is used by [NewHealth]: a sentence without a line break that says where the
	// other paths are served. Empty: the response has no such sentence.
	PrivatePathsHint string
}

// New makes the handler. It starts nothing. The error names the missing fields.
func New(config Config) (http.Handler, error) {
	if config.Pods == nil || config.Health == nil || config.Ready == nil {
		return nil, errors.New("debug: Config.Pods, Health and Ready are all needed")
	}
	return newRoutesHandler(routes(config), config.Hosts), nil
}

// newRoutesHandler returns a handler that serves the routes. It rejects requests of pages in a browser and
// requests with a body.
func newRoutesHandler(served []route, hosts []string) http.Handler {
	mux := http.NewServeMux()
	for _, r := range served {
		mux.HandleFunc(r.pattern, r.handle)
	}
	return rejectBrowserRequestsAndBodies(hosts, mux)
}

// NewHealth makes a handler for an address that every user of the machine can reach. It serves
// /healthz, /readyz, /metrics and /metrics/resource. Every other path of [New] gets a 403 with
// Config.PrivatePathsHint. It needs Config.Health and Config.Ready, and also uses Metrics,
// ResourceMetrics and Hosts. It does not use Faults, because faults quote manifests, so ?verbose has no
// effect. It starts nothing. The error names the missing fields.
func NewHealth(config Config) (http.Handler, error) {
	if config.Health == nil || config.Ready == nil {
		return nil, errors.New("debug: Config.Health and Ready are both needed")
	}
	public := Config{Health: config.Health, Ready: config.Ready, Metrics: config.Metrics, ResourceMetrics: config.ResourceMetrics}
	served := healthAndMetricsRoutes(public)
	served = append(served, indexRoutes(public, served)...)
	return newRoutesHandler(append(served, route{"/", newForbiddenHandler(config.PrivatePathsHint)}), config.Hosts), nil
}

// newForbiddenHandler returns a handler that responds with 403, the reason and the hint. NewHealth uses it for
// the paths that would show or change pods.
func newForbiddenHandler(hint string) http.HandlerFunc {
	text := "this address serves health and metrics only, because every user of the machine can reach it"
	if hint != "" {
		text += "; " + hint
	}
	return func(w http.ResponseWriter, _ *http.Request) { respond.WriteText(w, http.StatusForbidden, text+"\n") }
}

// route is a pattern and its handler.
type route struct {
	pattern string // of http.ServeMux
	handle  http.HandlerFunc
}

// routes returns all routes of a Config, including health, metrics and the list of paths. It leaves out the
// routes for which the Config has no function, except /exec, which then responds with 403.
func routes(config Config) []route {
	all := append(healthAndMetricsRoutes(config), route{"GET /pods", respond.PodListHandler(config.Pods)})
	if config.Faults != nil {
		all = append(all, route{"GET /faults", func(w http.ResponseWriter, _ *http.Request) {
			respond.WriteJSON(w, append([]source.Faults{}, config.Faults()...)) // Never null.
		}})
	}
	if config.Explain != nil {
		all = append(all, route{"GET /explain/{namespace}/{name}", explainHandler(config)})
	}
	if config.Timeline != nil {
		all = append(all, route{"GET /timeline/{namespace}/{name}", timelineHandler(config.Timeline)})
	}
	if config.Logs != nil {
		read := logHandler(config.Logs)
		all = append(all, route{"GET /logs/{namespace}/{pod}", read}, route{"GET /logs/{namespace}/{pod}/{container}", read})
	}
	if config.Stats != nil {
		all = append(all, route{"GET /stats/summary", config.Stats.ServeHTTP})
	}
	run := execHandler(config.Exec)
	all = append(all, route{"POST /exec/{namespace}/{pod}", run}, route{"POST /exec/{namespace}/{pod}/{container}", run})
	return append(all, indexRoutes(config, all)...)
}

// healthAndMetricsRoutes returns the routes /healthz, /readyz, /metrics and /metrics/resource. It leaves out a
// metrics route whose handler is not in the Config. These routes show no spec of a pod, so the caller can serve
// them to more clients than the other routes.
func healthAndMetricsRoutes(config Config) []route {
	all := []route{
		{"GET /healthz", addManifestFaultsIfVerbose(config, healthHandler(config.Health))},
		{"GET /readyz", healthHandler(config.Ready)},
	}
	for pattern, h := range map[string]http.Handler{"/metrics": config.Metrics, "/metrics/resource": config.ResourceMetrics} {
		if h != nil {
			all = append(all, route{"GET " + pattern, h.ServeHTTP})
		}
	}
	return all
}

// addManifestFaultsIfVerbose returns a handler that calls next. If the query has "verbose" and the node is
// healthy, the handler instead responds with "ok" and the faults of manifests.
func addManifestFaultsIfVerbose(config Config, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("verbose") && config.Health() == nil {
			respond.WriteText(w, http.StatusOK, "ok\n"+describeFirstManifestFaultsPodFirst(config, ""))
			return
		}
		next(w, r)
	}
}

// describeFirstManifestFaultsPodFirst returns lines about the first few faults of manifests, or "" if there are
// none. The faults that may concern the pod of this name come first; an empty name gives no such order.
func describeFirstManifestFaultsPodFirst(config Config, pod string) string {
	if config.Faults == nil {
		return ""
	}
	if text := source.DescribeFor(config.Faults(), pod); text != "" {
		return text + "\n"
	}
	return ""
}

// healthHandler returns a handler that responds with "ok", or with status 503 and the error if health returns
// one.
func healthHandler(health func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := health(); err != nil {
			respond.WriteText(w, http.StatusServiceUnavailable, plain.Text(err.Error())+"\n")
			return
		}
		respond.WriteText(w, http.StatusOK, "ok")
	}
}
