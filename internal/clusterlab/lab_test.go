package clusterlab_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

var cluster = flag.Bool("cluster", false, "run the tests that need a control plane, and build it first")

// requireBuilt skips a test whose programs cannot be built, unless CI is true: there, and after any
// other error, it fails. A test that was asked for and has not run must not be ok.
func requireBuilt(t *testing.T, err error) {
	t.Helper()
	if maySkip(err, os.Getenv("CI")) {
		t.Skip(err)
	}
	require.NoError(t, err)
}

func maySkip(err error, ci string) bool {
	return errors.Is(err, clusterlab.ErrNotBuilt) && ci != "true"
}

// TestBuilt: only what cannot be built is skipped, and not where CI is true.
func TestBuilt(t *testing.T) {
	t.Setenv("PODKEEL_CLUSTERLAB", "/dev/null/none")
	_, err := clusterlab.Start(t.Context(), clusterlab.Config{})
	require.ErrorIs(t, err, clusterlab.ErrNotBuilt)
	assert.True(t, maySkip(err, ""))
	assert.False(t, maySkip(err, "true"))
	assert.False(t, maySkip(errors.New("kube-apiserver has ended"), ""))
}

// startLab starts a control plane for a test. It skips the test without -cluster, and calls requireBuilt.
func startLab(t *testing.T, config clusterlab.Config) *clusterlab.Cluster {
	t.Helper()
	if !*cluster {
		t.Skip("no control plane without -cluster: it is built from source, which takes minutes")
	}
	c, err := clusterlab.Start(context.Background(), config)
	requireBuilt(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	return c
}

// TestServer: the API server that runs is of the release that PODKEEL_KUBERNETES selects.
func TestServer(t *testing.T) {
	c := startLab(t, clusterlab.Config{})
	want, err := clusterlab.ServerVersion()
	require.NoError(t, err)
	discoverer, err := discovery.NewDiscoveryClientForConfig(c.Rest("admin"))
	require.NoError(t, err)
	got, err := discoverer.ServerVersion()
	require.NoError(t, err)
	assert.Equal(t, want, got.GitVersion)
	t.Log("kube-apiserver " + got.GitVersion)
}

// TestConformance: a real server by the real client keeps the promises that the one in
// memory keeps.
func TestConformance(t *testing.T) {
	var nodes []string
	for i := range apiservertest.Cases() {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	c := startLab(t, clusterlab.Config{Nodes: nodes})
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
