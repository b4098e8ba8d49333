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

// Config is what the handler asks; Pods, Health and Ready are required.
type Config struct {
	// Pods returns copies of all pods with their newest status. It is called
	// for each request, concurrently, and must not block.
	Pods func() []*v1.Pod
	// Health returns nil, or what is wrong. It is called like Pods.
	Health func() error
	// Ready returns nil, or what is still awaited. It is called like Pods.
	Ready func() error
	// Explain says why a pod is as it is: its String is for people, and its
	// JSON for programs. False: there is no such pod. It is called like Pods.
	// Nil: there is no /explain.
	Explain func(namespace, name string) (fmt.Stringer, bool)
	// Faults are those of the manifests that stand now: the Faults of node.Sources. It is
	// called like Pods. Nil: there is no /faults.
	Faults func() []source.Faults
	// Timeline is the drawing of a pod's life: that of a recorder.Recorder. False: there is
	// no such pod. It is called like Pods. Nil: there is no /timeline.
	Timeline func(namespace, name string) (timeline.Timeline, bool)
	// Logs finds containers and reads their logs: a node.Containers. Nil: there is no /logs.
	Logs LogReader
	// Exec finds containers and runs commands in them: a node.Containers. Nil: /exec is off.
	// Otherwise every process on this machine that can reach the handler can run
	// anything in the containers.
	Exec CommandRunner
	// Metrics answers /metrics, ResourceMetrics /metrics/resource, and Stats /stats/summary:
	// packages metrics and stats have some. Nil: there is no such path.
	Metrics, ResourceMetrics, Stats http.Handler
	// Hosts are the names, without ports, by which the handler may be asked, beside
	// IP addresses and localhost. A request for any other Host is refused: a page in
	// a browser can make a name of its own lead to this machine.
	Hosts []string
	// PrivatePathsHint is for [NewHealth]: a sentence that says where the other paths are served,
	// without a line break. Empty: the answer does not say it.
	PrivatePathsHint string
}

// New makes the handler. It starts nothing; the error names what is missing.
func New(config Config) (http.Handler, error) {
	if config.Pods == nil || config.Health == nil || config.Ready == nil {
		return nil, errors.New("debug: Config.Pods, Health and Ready are all needed")
	}
	return serveRoutes(routes(config), config.Hosts), nil
}

// serveRoutes makes the guarded handler of routes.
func serveRoutes(served []route, hosts []string) http.Handler {
	mux := http.NewServeMux()
	for _, r := range served {
		mux.HandleFunc(r.pattern, r.handle)
	}
	return rejectUnsafeRequests(hosts, mux)
}

// NewHealth makes a handler for an address that every user of the machine can reach. It serves
// /healthz, /readyz, /metrics and /metrics/resource. It answers every other path of [New] with
// 403 and Config.PrivatePathsHint. It needs Config.Health and Config.Ready, and uses Metrics,
// ResourceMetrics and Hosts beside them; so ?verbose shows no faults of manifests, which quote
// the manifests. It starts nothing; the error names the missing functions.
func NewHealth(config Config) (http.Handler, error) {
	if config.Health == nil || config.Ready == nil {
		return nil, errors.New("debug: Config.Health and Ready are both needed")
	}
	public := Config{Health: config.Health, Ready: config.Ready, Metrics: config.Metrics, ResourceMetrics: config.ResourceMetrics}
	served := healthRoutes(public)
	served = append(served, indexRoutes(public, served)...)
	return serveRoutes(append(served, route{"/", rejectPrivate(config.PrivatePathsHint)}), config.Hosts), nil
}

// rejectPrivate returns a handler that rejects requests which would show or change pods.
func rejectPrivate(hint string) http.HandlerFunc {
	text := "this address serves health and metrics only, because every user of the machine can reach it"
	if hint != "" {
		text += "; " + hint
	}
	return func(w http.ResponseWriter, _ *http.Request) { respond.WriteText(w, http.StatusForbidden, text+"\n") }
}

// route is one question that the handler answers.
type route struct {
	pattern string // of http.ServeMux
	handle  http.HandlerFunc
}

// routes are all routes of a Config. None is registered but through this list,
// so that a test can ask each of them.
func routes(config Config) []route {
	all := append(healthRoutes(config), route{"GET /pods", respond.PodListHandler(config.Pods)})
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

// healthRoutes returns the routes of health and metrics, which show no spec of a pod.
func healthRoutes(config Config) []route {
	all := []route{
		{"GET /healthz", withManifestFaults(config, healthHandler(config.Health))},
		{"GET /readyz", healthHandler(config.Ready)},
	}
	for pattern, h := range map[string]http.Handler{"/metrics": config.Metrics, "/metrics/resource": config.ResourceMetrics} {
		if h != nil {
			all = append(all, route{"GET " + pattern, h.ServeHTTP})
		}
	}
	return all
}

// withManifestFaults adds, if the query asks for it, the faults of the manifests to the answer of a node
// that is healthy: it is so in spite of them.
func withManifestFaults(config Config, brief http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("verbose") && config.Health() == nil {
			respond.WriteText(w, http.StatusOK, "ok\n"+describeFaults(config, ""))
			return
		}
		brief(w, r)
	}
}

// describeFaults are lines about the faults of the manifests, if there are any, for a request that asks
// for a pod, or for none.
func describeFaults(config Config, pod string) string {
	if config.Faults == nil {
		return ""
	}
	if text := source.DescribeFor(config.Faults(), pod); text != "" {
		return text + "\n"
	}
	return ""
}

// healthHandler answers "ok" or, with a status that a prober understands, the reason.
func healthHandler(health func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := health(); err != nil {
			respond.WriteText(w, http.StatusServiceUnavailable, plain.Text(err.Error())+"\n")
			return
		}
		respond.WriteText(w, http.StatusOK, "ok")
	}
}
