package clustertest_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/podtest"
	"github.com/podkeel/podkeel/syncloop/cluster"
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

// Config.Configure gives the nodes a taint, one CPU and four GPUs.
func ExampleStart() {
	t := &example{}
	defer t.runCleanups()
	server := apiservertest.New(apiservertest.Config{})
	clustertest.Start(t, clustertest.Config{
		Server: &rest.Config{Host: "http://memory", Transport: server.RoundTripper()}, Nodes: 2, Prefix: "gpu-", Binding: clustertest.BindNever,
		Configure: func(c *cluster.Config) {
			c.Node.Scheduling.Taints = []v1.Taint{{Key: "example.com/gpu", Effect: v1.TaintEffectNoSchedule}}
			c.Node.Scheduling.Capacity[v1.ResourceCPU] = resource.MustParse("1")
			c.Node.Scheduling.Capacity["nvidia.com/gpu"] = resource.MustParse("4")
		},
	})
	node := server.Admin().Node("gpu-1")
	gpus := node.Status.Allocatable["nvidia.com/gpu"]
	fmt.Println(node.Spec.Taints[0].Key, node.Status.Allocatable.Cpu(), gpus.String(), node.Status.Allocatable.Memory())
	// Output: example.com/gpu 1 4 8Gi
}
