package clustertest_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/clustertest"
)

// example is a testing.TB outside of a test. In a test it is *testing.T or GinkgoTB().
type example struct {
	testing.B
	cleanups []func()
}

func (e *example) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

func (e *example) runCleanups() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

// Two nodes join an API server in memory and run a pod. With envtest, restConfig is the result of its Start.
func ExampleStartNodes() {
	t := &example{}
	defer t.runCleanups()
	server := apiservertest.New(apiservertest.Config{})
	restConfig := &rest.Config{Host: "http://memory", Transport: server.RoundTripper()}
	nodes := clustertest.StartNodes(t, restConfig, 2)
	if _, err := server.Admin().CreatePod(podtest.Pod("web").Container("c").Build(t)); err != nil {
		fmt.Println(err)
	}
	for state := range nodes.Node("node-0").Cluster().Node().Watch(context.Background()) {
		if state.Pod.Status.Phase == "Running" {
			fmt.Println(state.Pod.Name, "runs on", state.Pod.Spec.NodeName)
			break
		}
	}
	// Output: web runs on node-0
}

// A node with taints and other resources.
func ExampleStart() {
	t := &example{}
	defer t.runCleanups()
	server := apiservertest.New(apiservertest.Config{})
	nodes := clustertest.Start(t, clustertest.Config{
		Server: &rest.Config{Host: "http://memory", Transport: server.RoundTripper()}, Prefix: "edge-", Binding: clustertest.BindNever,
	})
	fmt.Println(nodes.All()[0].Name(), server.Admin().Node("edge-0").Status.Capacity.Cpu())
	// Output: edge-0 4
}
