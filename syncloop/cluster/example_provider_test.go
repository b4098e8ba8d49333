package cluster_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

// provider runs pods elsewhere, such as virtual machines of a cloud: a PodSyncer of its own.
type provider struct{ node.SyncerParts }

// SyncPod implements podworkers.PodSyncer: it is called again after errors, and now and then.
func (p provider) SyncPod(_ context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (isTerminal bool, err error) {
	fmt.Println("create or update", pod.Name)
	p.Status.SetPodStatus(pod, v1.PodStatus{
		Phase: v1.PodRunning, PodIP: "192.0.2.10", Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
	})
	return false, nil
}

// SyncTerminatingPod implements podworkers.PodSyncer: when it returns nil nothing of the pod
// runs, and its status says how it has ended.
func (p provider) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	fmt.Println("delete", pod.Name)
	p.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodSucceeded})
	return nil
}

// SyncTerminatingRuntimePod implements podworkers.PodSyncer. The runtime of the node, which is
// in memory, has no pods.
func (p provider) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

// SyncTerminatedPod implements podworkers.PodSyncer: the pod may go from the API server.
func (p provider) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	p.Status.TerminatePod(pod)
	return nil
}

// A node whose pods run elsewhere: pods, statuses, deletions, node and lease are Podkeel's, and
// a PodSyncer does the rest. A program with containers implements runtime.Runtime instead,
// and gets restarts, probes and the order of containers as well.
func ExampleNew_provider() {
	server := apiservertest.New(apiservertest.Config{})
	n, err := cluster.New(cluster.Config{Server: server.Client("virtual"), Node: node.Config{
		Name:      "virtual",
		NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) { return provider{parts}, nil },
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "virtual", Containers: []v1.Container{{Name: "web", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	for state := range n.Node().Watch(ctx) {
		if state.Gone {
			break
		}
		if state.Pod.Status.Phase == v1.PodRunning && !state.Terminating {
			fmt.Println(state.Pod.Status.PodIP)
			if err := server.Admin().DeletePod("default", "web", 1); err != nil {
				fmt.Println(err)
			}
		}
	}
	cancel()
	fmt.Println(<-done, server.Admin().Pod("default", "web") == nil)
	// Output:
	// create or update web
	// 192.0.2.10
	// delete web
	// <nil> true
}
