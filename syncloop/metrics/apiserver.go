package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/cluster/nodeagent"
)

// apiServer has the metrics of a node that has joined a cluster.
type apiServer struct {
	requests *prometheus.CounterVec
	changes  prometheus.Counter
	replaced prometheus.Counter
	holders  prometheus.Counter
}

// newAPIServerMetrics creates and registers the metrics of a node that has joined a cluster: its requests for
// its Node object and lease.
func newAPIServerMetrics(f *factory) apiServer {
	return apiServer{
		requests: f.counterVec("podkeel_node_requests_total", "Requests for the node's object and lease at the API server.", "result"),
		changes:  f.counter("podkeel_node_object_changes_total", "Changes of the node's object at the API server."),
		replaced: f.counter("podkeel_node_object_replacements_total", "Times that another object had the node's name."),
		holders:  f.counter("podkeel_node_lease_conflicts_total", "Times that the node's lease was renewed by another holder."),
	}
}

// AgentHooks returns hooks that count the requests and changes of the node's object and lease. They are the
// AgentHooks of a cluster.Config.
func (m *Metrics) AgentHooks() nodeagent.Hooks {
	s := &m.server
	return nodeagent.Hooks{
		Changed:     func(*v1.Node) { s.changes.Inc() },
		Replaced:    func(_, _ types.UID) { s.replaced.Inc() },
		OtherHolder: func(string) { s.holders.Inc() },
		RequestDone: func(err error) { s.requests.WithLabelValues(resultLabel(err)).Inc() },
	}
}
