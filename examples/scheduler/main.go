// Command scheduler shows a custom scheduler: 50 simulated nodes in one process, where each pod is placed on the
// fitting node with the least allocated CPU.
//
//	go run ./examples/scheduler
//
// It runs for five seconds. It shows 100 pods that fill the nodes. Further pods wait until a pod has terminated, a node
// is uncordoned, or a pod is deleted.
//
// The scheduler is in scheduler.go, and the nodes and the story in main.go. The test runs the story in virtual time and
// checks each line.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

// run starts the nodes and the scheduler, and then plays five steps, one per second: it adds web pods, cordons a
// node, adds a log pod, uncordons the node, and deletes a web pod. It returns after the last step or when ctx is
// done. It returns an error only if it cannot create the nodes.
func run(ctx context.Context, out io.Writer) error {
	nodes, err := newNodes(50)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, n := range nodes {
		group.Go(func() { _ = n.Run(ctx) }) // Fits returns an error for a node that has stopped.
	}
	s := newScheduler(out, nodes)
	group.Go(func() { s.placeUntilDone(ctx) })
	for _, second := range []func(*scheduler){0: enqueueWebPods, 1: cordonNode, 2: enqueueLogPod, 3: uncordonNodeAndRetry, 4: deleteWebPod} {
		second(s)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return nil
}

// newNodes returns nodes with two CPUs each, named n00, n01 and so on. Ten nodes have the same label rack.
func newNodes(count int) (nodes []*node.Node, err error) {
	for i := range count {
		n, err := node.New(node.Config{
			Name: fmt.Sprintf("n%02d", i), Scheduling: node.SchedulingConfig{Labels: map[string]string{"rack": fmt.Sprint(i / 10)},
				Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}},
		})
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// enqueueWebPods enqueues two pods for each node, and two more pods that do not fit. Two of the pods terminate
// by themselves.
func enqueueWebPods(s *scheduler) {
	lasts := map[int]string{60: "1500ms", 75: "2500ms"}
	for i := range 2 * len(s.nodes) {
		s.enqueuePodsAndRequestRetry(newPod(fmt.Sprintf("web-%02d", i), lasts[i]))
	}
	db := newPod("db", "")
	db.Spec.NodeSelector = map[string]string{"rack": "4"}
	s.enqueuePodsAndRequestRetry(db, newPod("api", ""))
}

// cordonNode cordons the node n25.
func cordonNode(s *scheduler) { s.nodes[25].Scheduling().Cordon() }

// enqueueLogPod enqueues one more pod.
func enqueueLogPod(s *scheduler) { s.enqueuePodsAndRequestRetry(newPod("log", "")) }

// uncordonNodeAndRetry uncordons the node n25. The node sends no event about that, so the function requests a
// retry.
func uncordonNodeAndRetry(s *scheduler) {
	s.nodes[25].Scheduling().Uncordon()
	s.requestRetry()
}

// deleteWebPod deletes the pod web-42 from its node.
func deleteWebPod(s *scheduler) { s.nodes[42].Delete("web-42") }

// newPod returns a pod that requests one CPU and runs for runTime. An empty runTime means until the pod is
// deleted.
func newPod(name, runTime string) *v1.Pod {
	if runTime == "" {
		runTime = "forever"
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=" + runTime}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "app:1"}}
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	return pod
}
