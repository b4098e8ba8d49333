package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// recorded are the events of an object at the server, by name.
func (h *harness) recorded(name string) (all []string) {
	for _, e := range h.server.Admin().Events() {
		if e.InvolvedObject.Name == name {
			all = append(all, fmt.Sprintf("%s x%d", e.Reason, e.Count))
		}
	}
	return all
}

// TestCluster_Events: what happens to pods and to the node is recorded at the
// server, each once, with the UIDs by which kubectl finds it.
func TestCluster_Events(t *testing.T) {
	h := simulate(t, 1)
	h.start()
	pod := h.bind("web")
	require.NoError(t, h.static.Apply(dns()))
	h.after(5 * time.Second)
	assert.Equal(t, []string{"Pulling x1", "Pulled x1", "Created x1", "Started x1"}, h.recorded("web"))
	assert.Equal(t, []string{"Pulling x1", "Pulled x1", "Created x1", "Started x1"}, h.recorded("dns-n1"))
	assert.Equal(t, []string{"Starting x1", "NodeReady x1"}, h.recorded("n1"))
	for _, e := range h.server.Admin().Events() {
		switch o := e.InvolvedObject; o.Name {
		case "web":
			assert.Equal(t, pod.UID, o.UID)
			assert.Equal(t, "spec.containers{c}", o.FieldPath)
		case "dns-n1":
			assert.EqualValues(t, "s", o.UID)
		case "n1":
			assert.Equal(t, h.server.Admin().Node("n1").UID, o.UID)
		}
		assert.Equal(t, v1.EventSource{Component: "kubelet", Host: "n1"}, e.Source)
	}
	h.server.Down()
	h.after(time.Hour)
	h.delete("web", nil)
	h.server.Up()
	h.after(time.Minute)
	assert.Equal(t, []string{"Pulling x1", "Pulled x1", "Created x1", "Started x1", "Killing x1"}, h.recorded("web"))
	assert.Equal(t, []string{"Starting x1", "NodeReady x1"}, h.recorded("n1"))
}

// TestCluster_EventsAtTheEnd: the last events are recorded before Run returns, although the server is slow.
func TestCluster_EventsAtTheEnd(t *testing.T) {
	h := simulate(t, 1)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "events", Latency: time.Second})
	h.process = h.NewProcess()
	n, err := cluster.New(cluster.Config{Server: h.server.Client("n1"), Node: node.Config{Name: "n1", Runtime: h.machine, Clock: h.process.Clock()}})
	require.NoError(t, err)
	ctx, cancel := executor.WithCancel(context.Background())
	var ended time.Time
	h.process.Go(func() {
		assert.NoError(t, n.Run(ctx))
		ended = h.Now()
	})
	h.bind("web")
	h.after(1500 * time.Millisecond)
	assert.Less(t, len(h.recorded("web")), 4)
	cancel()
	begun := h.Now()
	h.after(time.Minute)
	assert.Equal(t, []string{"Pulling x1", "Pulled x1", "Created x1", "Started x1"}, h.recorded("web"))
	assert.LessOrEqual(t, ended.Sub(begun), 4*time.Second)
}
