package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// fleetCounts holds the numbers of nodes and pods in a fleet.
type fleetCounts struct {
	nodes, nodesReady                          int
	running, ready, pending, succeeded, failed int
	terminating, restarts                      int
}

// addNode counts a node, whether it is ready, and its pods. node is nil before it is registered.
func (c *fleetCounts) addNode(node *v1.Node, pods []*v1.Pod) {
	c.nodes++
	if node != nil {
		for _, condition := range node.Status.Conditions {
			if condition.Type == v1.NodeReady && condition.Status == v1.ConditionTrue {
				c.nodesReady++
			}
		}
	}
	for _, pod := range pods {
		c.addPod(pod)
	}
}

// addPod adds a pod and its restarts to the counts. A pod that is being deleted counts as terminating. Any
// other pod counts by its phase. A running pod that is ready also counts as ready.
func (c *fleetCounts) addPod(pod *v1.Pod) {
	for _, s := range pod.Status.ContainerStatuses {
		c.restarts += int(s.RestartCount)
	}
	if pod.DeletionTimestamp != nil {
		c.terminating++
		return
	}
	switch pod.Status.Phase {
	case v1.PodRunning:
		c.running++
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue {
				c.ready++
			}
		}
	case v1.PodSucceeded:
		c.succeeded++
	case v1.PodFailed:
		c.failed++
	default:
		c.pending++
	}
}

// String formats the counts on one line. It omits most counts that are zero.
func (c fleetCounts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nodes: %d of %d Ready  pods: %d Running, %d ready", c.nodesReady, c.nodes, c.running, c.ready)
	for _, one := range []struct {
		n    int
		what string
	}{
		{c.pending, "Pending"}, {c.succeeded, "Succeeded"}, {c.failed, "Failed"}, {c.terminating, "Terminating"}, {c.restarts, "restarts"},
	} {
		if one.n > 0 {
			fmt.Fprintf(&b, ", %d %s", one.n, one.what)
		}
	}
	return b.String()
}
