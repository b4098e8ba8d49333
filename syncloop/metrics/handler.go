package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is the maximum number of scrapes that an endpoint answers at the same time.
const maxScrapes = 4

// Handler serves the metrics of nodes, of the process and of the Go runtime, as /metrics. It returns an error
// if two nodes have the same Config.Node.
func Handler(nodes ...*Metrics) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	all := []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, m := range nodes {
		all = append(all, m)
	}
	return newHandler(registry, all)
}

// ResourceHandler serves collectors of NewResources as /metrics/resource.
func ResourceHandler(nodes ...prometheus.Collector) (http.Handler, error) {
	return newHandler(prometheus.NewPedanticRegistry(), nodes)
}

// newHandler registers all collectors in the registry and returns a handler that serves the registry. It
// returns an error if a collector cannot be registered.
func newHandler(registry *prometheus.Registry, all []prometheus.Collector) (http.Handler, error) {
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError}), nil
}
