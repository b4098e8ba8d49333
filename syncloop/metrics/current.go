package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// lazy are the metrics that are made when they are asked for.
type lazyMetrics struct {
	node atomic.Pointer[node.Node] // nil: there is none yet

	desired, mirrors, pods, containers, healthy, ready, faults, nodeName *prometheus.Desc
	hasNodeLabel                                                         bool // by a label of all metrics
}

func (c *lazyMetrics) init(f *factory) {
	c.desired = f.desc("kubelet_desired_pods", "Pods that the node is to run, by whether they are static.", "static")
	c.mirrors = f.desc("kubelet_mirror_pods", "Mirror pods of static pods.")
	c.pods = f.desc("kubelet_running_pods", "Pods with a sandbox that is ready.")
	c.containers = f.desc("kubelet_running_containers", "Containers of which the runtime has a record, by state.", "container_state")
	c.faults = f.desc("podkeel_source_faults", "Faults of the manifests of a source that stand now.", "source")
	c.healthy = f.desc("podkeel_node_healthy", "Whether the node is healthy.")
	var node []string
	if c.hasNodeLabel = f.labels != nil; !c.hasNodeLabel {
		node = []string{"node"}
	}
	c.nodeName = f.desc("kubelet_node_name", "The name of the node; the value is always 1.", node...)
	c.ready = f.desc("podkeel_node_ready", "Whether every source and the runtime have been heard, and the first housekeeping is over.")
}

func (c *lazyMetrics) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.desired, c.mirrors, c.pods, c.containers, c.healthy, c.ready, c.faults, c.nodeName} {
		ch <- d
	}
}

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

// stateNames are the words of CRI for the states of containers.
var stateNames = map[runtime.State]string{
	runtime.StateCreated: "created", runtime.StateRunning: "running", runtime.StateExited: "exited", runtime.StateUnknown: "unknown",
}

// wasRunning counts the pods that have a sandbox which is ready, and the containers of all.
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

func boolToInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
