package node_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
)

// jobPod returns a pod that runs once.
func jobPod(name string, command ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever,
			Containers:    []v1.Container{{Name: "main", Image: "img:1", Command: command}},
		},
	}
}

// A node, a pod, and what becomes of it.
func ExampleNew() {
	ctx, end := context.WithCancel(context.Background())
	n, err := node.New(node.Config{})
	if err != nil {
		panic(err)
	}
	go n.Run(ctx)
	_ = n.Apply(jobPod("job", "true"))
	for state := range n.Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodSucceeded {
			fmt.Println(state.Pod.Name, state.Summary())
			break
		}
	}
	end()
	<-n.Done()
	// Output: job 0/1 Completed
}

// A program that keeps its own picture of the pods: a list, and then what changes.
func ExampleNode_WatchFrom() {
	ctx, end := context.WithCancel(context.Background())
	n, err := node.New(node.Config{})
	if err != nil {
		panic(err)
	}
	go n.Run(ctx)
	pods, version, _ := n.List(node.ListOptions{Namespace: "default"})
	fmt.Println(len(pods), "pods")
	_ = n.Apply(jobPod("job", "true"))
	for event, err := range n.WatchFrom(ctx, version, node.ListOptions{Namespace: "default"}) {
		if err != nil {
			panic(err) // node.ErrExpired: List again.
		}
		if event.Pod.Status.Phase == v1.PodSucceeded {
			fmt.Println(event.Pod.Name, event.Pod.Status.Phase)
			break
		}
	}
	end()
	<-n.Done()
	// Output:
	// 0 pods
	// job Succeeded
}

// task is a PodSyncer without containers: a pod is a line on the standard output.
type task struct{ parts node.SyncerParts }

func (t task) SyncPod(_ context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	fmt.Println(pod.Spec.Containers[0].Command[0])
	t.parts.Status.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodSucceeded})
	return true, nil
}

func (task) SyncTerminatingPod(context.Context, *v1.Pod, *runtime.PodStatus, *int64, podworkers.PodStatusFunc) error {
	return nil // Nothing of it runs.
}

func (task) SyncTerminatingRuntimePod(context.Context, *runtime.Pod) error { return nil }

func (t task) SyncTerminatedPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus) error {
	t.parts.Status.TerminatePod(pod)
	return nil
}

// A node with a PodSyncer of one's own. What that reports is what watchers see.
func ExampleConfig_newSyncer() {
	ctx, end := context.WithCancel(context.Background())
	n, err := node.New(node.Config{NewSyncer: func(parts node.SyncerParts) (podworkers.PodSyncer, error) { return task{parts}, nil }})
	if err != nil {
		panic(err)
	}
	go n.Run(ctx)
	_ = n.Apply(jobPod("hello", "Hello from a pod."))
	for state := range n.Watch(ctx) {
		if state.Pod.Status.Phase == v1.PodSucceeded {
			fmt.Println(state.Pod.Name, state.Pod.Status.Phase)
			break
		}
	}
	end()
	<-n.Done()
	// Output:
	// Hello from a pod.
	// hello Succeeded
}
