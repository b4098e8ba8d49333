// Command operatortest shows how an operator is tested against simulated nodes: real nodes with
// runtimes in memory, at an API server in memory.
//
//	go run ./examples/operatortest
//
// The operator keeps a number of pods running, spread over nodes, and replaces failed pods. The program shows that for
// five seconds. Its test is the purpose of the example: a day of the operator in virtual time, within a
// testing/synctest bubble, takes seconds. An operator with a client of client-go or controller-runtime can connect to
// one node instead, with localapi.API.RoundTripper.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	server := apiservertest.New(apiservertest.Config{})
	o := &operator{pods: server.Admin(), nodes: []string{"a", "b"}, replicas: 3, every: time.Second, script: "run=2s exit=1", out: os.Stdout}
	if err := run(ctx, server, o); err != nil {
		fmt.Fprintln(os.Stderr, "operatortest:", err)
		os.Exit(1)
	}
}

// run starts the nodes, and lets the operator delete and create pods periodically until ctx is done or it fails.
func run(ctx context.Context, server *apiservertest.Server, o *operator) error {
	var group sync.WaitGroup
	defer group.Wait()
	for _, name := range o.nodes {
		n, err := cluster.New(cluster.Config{Server: server.Client(name), Node: node.Config{Name: name}})
		if err != nil {
			return err
		}
		group.Go(func() { _ = n.Run(ctx) }) // The operator notices missing pods.
	}
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		if err := o.deleteTerminatedAndCreateMissing(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// podStore is the part of a Kubernetes client that the operator uses.
type podStore interface {
	Pods(node string) []*v1.Pod
	CreatePod(pod *v1.Pod) (*v1.Pod, error)
	DeletePod(namespace, name string, graceSeconds int64) error
}

// operator keeps a number of replicas of a pod running.
type operator struct {
	pods     podStore
	nodes    []string
	replicas int
	script   string        // of the container, in the syntax of package memory
	every    time.Duration // between two passes
	out      io.Writer
	created  int
}

// deleteTerminatedAndCreateMissing deletes terminated pods, and creates the missing replicas, each on the node
// with the fewest pods. It ignores errors of deletions, as the next call tries again.
func (o *operator) deleteTerminatedAndCreateMissing() error {
	total, on := 0, map[string]int{}
	for _, name := range o.nodes {
		for _, pod := range o.pods.Pods(name) {
			if pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded {
				fmt.Fprintln(o.out, pod.Name, "has terminated on", name)
				_ = o.pods.DeletePod(pod.Namespace, pod.Name, -1) // The next pass tries again.
				continue
			}
			total++
			on[name]++
		}
	}
	for ; total < o.replicas; total++ {
		least := slices.MinFunc(o.nodes, func(a, b string) int { return on[a] - on[b] })
		on[least]++
		if err := o.createAndPrintPod(least); err != nil {
			return err
		}
	}
	return nil
}

// createAndPrintPod creates a new replica on a node and prints its name.
func (o *operator) createAndPrintPod(nodeName string) error {
	o.created++
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("replica-", o.created), Namespace: "default", Annotations: map[string]string{memory.AnnotationPrefix + "main": o.script}},
		Spec:       v1.PodSpec{NodeName: nodeName, RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "replica:1"}}},
	}
	fmt.Fprintln(o.out, pod.Name, "is created on", nodeName)
	_, err := o.pods.CreatePod(pod)
	return err
}
