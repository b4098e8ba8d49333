package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes an endpoint answers at once.
const maxScrapes = 4

// Handler serves the metrics of nodes as /metrics: these, and those of the process and of Go. It
// fails if two of them have the same names and the same Config.Node.
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

func newHandler(registry *prometheus.Registry, all []prometheus.Collector) (http.Handler, error) {
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError}), nil
}
