package clustertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestConfigure_Pressure, in a bubble: nodetest.Pressure measures a node of this package, so that the node evicts the pod that uses
// the most memory and stays ready.
func TestConfigure_Pressure(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1 << 30}
	evict := p.Configure(eviction.Settings{Hard: map[string]string{"memory.available": "100Mi"}}, eviction.Policy{})
	runInBubble(t, clustertest.Config{Configure: func(c *cluster.Config) { evict(&c.Node) }}, nil, func(h *harness) {
		h.createPods(
			podtest.Pod("a").GracePeriod(time.Second).Container("c", podtest.Uses("memory=300Mi")),
			podtest.Pod("b").GracePeriod(time.Second).Container("c", podtest.UsesMemory(2*time.Minute, "900Mi")),
		)
		require.Equal(h, "a node-0 Running True, b node-0 Running True", h.describePods("a", "b"))
		time.Sleep(2 * time.Minute)
		assert.Equal(h, "a node-0 Running True, b node-0 Failed False", h.describePods("a", "b"))
		assert.Equal(h, "Evicted", h.server.Admin().Pod("default", "b").Status.Reason)
		assert.Equal(h, v1.ConditionTrue, nodeCondition(h.server.Admin().Node("node-0"), v1.NodeMemoryPressure))
		assert.Equal(h, v1.ConditionTrue, nodeCondition(h.server.Admin().Node("node-0"), v1.NodeReady))
		time.Sleep(6 * time.Minute)
		assert.Equal(h, v1.ConditionFalse, nodeCondition(h.server.Admin().Node("node-0"), v1.NodeMemoryPressure))
	})
}

// nodeCondition returns the status of a condition of a node.
func nodeCondition(node *v1.Node, kind v1.NodeConditionType) v1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}
