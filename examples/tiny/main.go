// Command tiny is the smallest program with a node: it runs one pod on the in-memory runtime and watches it for eight
// seconds.
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
	n, err := node.New(node.Config{})
	check(err)
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "3"}}}}}
	pod.Name = "hello"
	check(n.Apply(pod))
	go func() { defer cancel(); check(n.Run(ctx)) }()
	for state := range n.Watch(ctx) {
		fmt.Println(state.Pod.Name, state.Summary())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
