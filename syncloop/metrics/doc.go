// Package metrics makes the metrics of nodes for Prometheus from the hooks of all parts
// (experimental). It is the only importer of the Prometheus client: who does not import it does not
// link that.
//
//	m := metrics.New(metrics.Config{})
//	config := node.Config{...}
//	m.Instrument(&config)          // before node.New
//	n, err := node.New(config)
//	m.Observe(n)                   // what is only known when it is asked for
//	prometheus.MustRegister(m)     // or any other registry
//
// A metric that means what one of the kubelet means has its name, type, labels and buckets; all
// others begin with podkeel_. METRICS.md lists them. Several nodes of one process have one Metrics
// each, told apart by Config.Node.
//
// # Cardinality
//
// No label has a value that a pod, a container or an image can choose freely. Exceptions are the
// metrics of probes, which have the namespace, name and UID of the pod as those of the kubelet do
// and vanish with it, and those of the resource endpoint, which are made anew for each scrape.
// Reasons beyond those that are known count as "Other".
//
// # Endpoints
//
// Handler serves /metrics, and ResourceHandler /metrics/resource: usage of the node, its pods and
// containers, with the time of each measurement. /stats/summary is in package stats.
//
// # Cost
//
// What every sync calls takes no lock and allocates nothing. A program without this package has no
// such hooks, and pays nothing.
package metrics
