// Command scheduler shows a scheduler of one's own: 50 simulated nodes in one process, and each pod
// goes to the node that has the least allocated of those on which it fits.
//
//	go run ./examples/scheduler
//
// It runs for five seconds and ends by itself. What it shows: 100 pods fill the nodes; others wait,
// and are placed when a pod has ended, when a node is uncordoned, or when a pod is deleted.
//
// The scheduler is in scheduler.go, and the nodes and the story in main.go. The test has the story in
// virtual time, line by line.
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

// run runs the nodes and the scheduler until the story is over, or ctx ends.
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
		group.Go(func() { _ = n.Run(ctx) }) // Fits has an error when it has ended.
	}
	s := newScheduler(out, nodes)
	group.Go(func() { s.run(ctx) })
	for _, second := range []func(*scheduler){0: fill, 1: cordon, 2: addMore, 3: uncordon, 4: remove} {
		second(s)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return nil
}

// newNodes are nodes of two cpus each, ten in a rack: n00, n01 and so on.
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

// fill adds two pods for each node, of which two end by themselves, and two that find no room.
func fill(s *scheduler) {
	lasts := map[int]string{60: "1500ms", 75: "2500ms"}
	for i := range 2 * len(s.nodes) {
		s.add(newPod(fmt.Sprintf("web-%02d", i), lasts[i]))
	}
	db := newPod("db", "")
	db.Spec.NodeSelector = map[string]string{"rack": "4"}
	s.add(db, newPod("api", ""))
}

func cordon(s *scheduler)  { s.nodes[25].Scheduling().Cordon() }
func addMore(s *scheduler) { s.add(newPod("log", "")) }

// uncordon makes room, and no node has an event for that.
func uncordon(s *scheduler) {
	s.nodes[25].Scheduling().Uncordon()
	s.retry()
}

func remove(s *scheduler) { s.nodes[42].Delete("web-42") }

// newPod is a pod of one cpu that runs for some time; empty: until it is deleted.
func newPod(name, lasts string) *v1.Pod {
	if lasts == "" {
		lasts = "forever"
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=" + lasts}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "app:1"}}
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	return pod
}
