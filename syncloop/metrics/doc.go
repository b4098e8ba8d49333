// Package metrics exports the metrics of nodes to Prometheus from the hooks of all parts
// (experimental). It is the only importer of the Prometheus client, so a program without this package
// does not link the client.
//
//	m := metrics.New(metrics.Config{})
//	config := node.Config{...}
//	m.Instrument(&config)          // before node.New
//	n, err := node.New(config)
//	m.Observe(n)                   // for the metrics that each scrape reads from the node
//	prometheus.MustRegister(m)     // or any other registry
//
// A metric with the meaning of a kubelet metric has its name, type, labels and buckets. All other names
// begin with podkeel_. METRICS.md lists them. Several nodes of one process have one Metrics each, and
// Config.Node distinguishes them.
//
// # Cardinality
//
// No label has a value that a pod, a container or an image can choose freely, with two exceptions. The
// metrics of probes have the namespace, name and UID of the pod, as in the kubelet, and are deleted with
// the pod. The metrics of the resource endpoint name pods and containers too, and each scrape creates
// them again. Unknown reasons count as "Other".
//
// # Endpoints
//
// Handler serves /metrics, and ResourceHandler /metrics/resource: usage of the node, its pods and
// containers, with the time of each measurement. /stats/summary is in package stats.
//
// # Cost
//
// The hooks that every sync calls take no lock and allocate nothing. A program without this package has
// no such hooks.
package metrics
