// Command tiny is the smallest program with a node in it: one pod, on the
// runtime in memory, watched for ten seconds.
package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n, _ := node.New(node.Config{})
	go n.Run(ctx)
	_ = n.Set(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "hello", UID: "1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "3"}}}},
	})
	for pod := range n.Watch(ctx) {
		fmt.Println(pod.Pod.Name, pod.Summary())
	}
}
