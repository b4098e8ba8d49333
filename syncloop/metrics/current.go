package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// lazyMetrics has the metrics that are computed at each scrape.
type lazyMetrics struct {
	node atomic.Pointer[node.Node] // nil before Observe

	desired, mirrors, pods, containers, healthy, ready, faults, nodeName *prometheus.Desc
	hasNodeLabel                                                         bool // every metric has the label "node"
}

// createDescriptions creates the descriptions of the metrics that are computed at each scrape. The node name is
// a label unless all metrics have it as a constant label.
func (c *lazyMetrics) createDescriptions(f *factory) {
	c.desired = f.desc("kubelet_desired_pods", "Pods that the node should run, by whether they are static.", "static")
	c.mirrors = f.desc("kubelet_mirror_pods", "Mirror pods of static pods.")
	c.pods = f.desc("kubelet_running_pods", "Pods with a ready sandbox.")
	c.containers = f.desc("kubelet_running_containers", "Containers in the records of the runtime, by state.", "container_state")
	c.faults = f.desc("podkeel_source_faults", "Current faults of the manifests of a source.", "source")
	c.healthy = f.desc("podkeel_node_healthy", "Whether the node is healthy.")
	var node []string
	if c.hasNodeLabel = f.labels != nil; !c.hasNodeLabel {
		node = []string{"node"}
	}
	c.nodeName = f.desc("kubelet_node_name", "The name of the node; the value is always 1.", node...)
	c.ready = f.desc("podkeel_node_ready", "Whether every source and the runtime have delivered a first snapshot and the first housekeeping is done.")
}

// describe sends the descriptions of the metrics that are computed at each scrape to ch.
func (c *lazyMetrics) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.desired, c.mirrors, c.pods, c.containers, c.healthy, c.ready, c.faults, c.nodeName} {
		ch <- d
	}
}

// collect computes the metrics of the node's current state and sends them to ch. It sends nothing before
// Observe has set the node.
func (c *lazyMetrics) collect(ch chan<- prometheus.Metric) {
	n := c.node.Load()
	if n == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	desired, mirrors, _ := n.Sources().Desired().GetPodsAndMirrorPods()
	static := 0
	for _, pod := range desired {
		static += boolToInt(podmanager.IsStaticPod(pod))
	}
	gauge(c.desired, len(desired)-static, "")
	gauge(c.desired, static, "true")
	gauge(c.mirrors, len(mirrors))
	pods, states := countRunning(n.Containers().RuntimePods())
	gauge(c.pods, pods)
	for state, name := range stateNames {
		gauge(c.containers, states[state], name)
	}
	for _, of := range n.Sources().Faults() {
		gauge(c.faults, of.Count, of.Source)
	}
	gauge(c.healthy, boolToInt(n.Health().Err == nil))
	gauge(c.ready, boolToInt(n.Health().Waiting == nil))
	if c.hasNodeLabel {
		gauge(c.nodeName, 1)
	} else {
		gauge(c.nodeName, 1, n.Name())
	}
}

// stateNames are CRI's words for the states of containers.
var stateNames = map[runtime.State]string{
	runtime.StateCreated: "created", runtime.StateRunning: "running", runtime.StateExited: "exited", runtime.StateUnknown: "unknown",
}

// countRunning returns the number of pods with a ready sandbox, and the number of containers of all pods by
// state.
func countRunning(observed []runtime.Pod) (pods int, states map[runtime.State]int) {
	states = make(map[runtime.State]int, len(stateNames))
	for _, p := range observed {
		for _, s := range p.Sandboxes {
			if s.Ready {
				pods++
				break
			}
		}
		for _, c := range p.Containers {
			states[c.State]++
		}
	}
	return pods, states
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
