// Command tiny is the smallest program with a node in it: one pod, on the
// runtime in memory, watched for eight seconds.
package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	n, err := node.New(node.Config{})
	if err != nil {
		panic(err)
	}
	go n.Run(ctx)
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "3"}}}}}
	pod.Name, pod.UID = "hello", "1"
	_ = n.Apply(pod) // An error would say what is wrong with it.
	for state := range n.Watch(ctx) {
		fmt.Println(state.Pod.Name, state.Summary())
	}
}
