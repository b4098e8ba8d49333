package clusterlab_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

// TestExampleCluster: the program joins as a node, runs what kubectl asks for, prints it, and
// ends with status 0 at SIGTERM.
func TestExampleCluster(t *testing.T) {
	c := startLab(t, clusterlab.Config{Nodes: []string{"n1"}})
	kubeconfig, err := c.Kubeconfig("n1")
	require.NoError(t, err)
	kubectl := newKubectl(t, c)
	p := runExample(t, "cluster", "--kubeconfig", kubeconfig, "--hostname-override", "n1", "--node-labels", "disk=ssd", "--node-ip", "192.0.2.1", "--port", "0")
	p.waitForLine("^joining as node n1, runtime memory$")
	p.waitForLine("^node n1 is registered$")
	kubectl("wait", "--for=create", "node/n1", "--timeout=60s")
	kubectl("wait", "--for=condition=Ready", "node", "-l", "disk=ssd", "--timeout=60s")
	kubectl("run", "web", "--image=web:1", `--overrides={"spec":{"nodeName":"n1"}}`)
	kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
	p.waitForLine(`^default/web\t1/1 Running$`)
	assert.Contains(t, kubectl("describe", "pod", "web"), "n1/192.0.2.1")
	kubectl("delete", "pod", "web")
	p.waitForLine(`^default/web\tdeleted$`)
	kubectl("run", "job", "--image=web:1", "--restart=Never", `--overrides={"spec":{"nodeName":"n1"}}`, "--command", "--", "sh", "-c", "exit 3")
	kubectl("wait", `--for=jsonpath={.status.phase}=Failed`, "pod/job", "--timeout=60s")
	p.waitForLine(`^default/job\t0/1 Error$`)
	assert.Equal(t, "3", kubectl("get", "pod", "job", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"))
	assert.Equal(t, 0, p.terminate())
	p.waitForLine("^ended; the node stays in the cluster and becomes NotReady; remove it with: kubectl delete node n1$")
	made := countCalls(readNodeCalls(t, c))
	for call, times := range map[string]int{
		"create nodes": 1, "watch nodes": 1, "watch pods": 1, "get leases": 1, "create leases": 1, "list pods": 0, "list nodes": 0, "get pods": 0,
		"delete pods": 1, "create serviceaccounts/token": 2,
	} {
		assert.Equal(t, times, made[call], "%s: %v", call, made)
	}
}
