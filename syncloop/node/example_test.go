package node_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

// A node, a pod, and what becomes of it.
func ExampleNew() {
	ctx, end := context.WithCancel(context.Background())
	n, err := node.New(node.Config{})
	if err != nil {
		panic(err)
	}
	go n.Run(ctx)
	job := pod("job", "true")
	job.Spec.RestartPolicy = v1.RestartPolicyNever
	_ = n.Apply(job)
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
