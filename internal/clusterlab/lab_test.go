package clusterlab_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/podmanager/apiserver/apiservertest"
	"github.com/podkeel/podkeel/podmanager/apiserver/client"
)

var cluster = flag.Bool("cluster", false, "run the tests that need a control plane, and build it first")

// lab starts a control plane for a test, or skips it.
func lab(t *testing.T, config clusterlab.Config) *clusterlab.Cluster {
	t.Helper()
	if !*cluster {
		t.Skip("no control plane without -cluster: it is built from source, which takes minutes")
	}
	c, err := clusterlab.Start(context.Background(), config)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("no control plane: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	return c
}

// TestConformance: a real server by the real client keeps the promises that the one in
// memory keeps.
func TestConformance(t *testing.T) {
	var nodes []string
	for i := range apiservertest.Cases() {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	c := lab(t, clusterlab.Config{Nodes: nodes})
	admin, err := c.Admin()
	require.NoError(t, err)
	apiservertest.Run(t, func(t *testing.T) apiservertest.Harness {
		node := nodes[0]
		nodes = nodes[1:]
		server, err := client.New(c.Rest(node), node)
		require.NoError(t, err)
		t.Cleanup(server.Reconnect)
		return apiservertest.Harness{
			Server: server, Node: node, Admin: admin,
			Compact: func() error { c.KillServer(); return c.StartServer(context.Background()) },
		}
	})
}
