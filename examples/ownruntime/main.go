// Command ownruntime shows a node with a custom container runtime: a "container" is a process of this machine, and an
// image is only a name.
//
//	go run ./examples/ownruntime
//
// It runs for about eight seconds. It runs two pods of real processes. One of them fails and is restarted. Then it
// stops a pod within a grace period, and drains the node.
//
// The runtime does not support images, mounts, devices, addresses of pods, exec, logs and statistics. Pods with exec
// probes or exec hooks, or with volumes, are therefore rejected. It ignores security contexts and resources: a process
// runs as the user of the program and without limits. The test runs the conformance kit of package runtimetest against the runtime.
//
// The records are in memory, so a restart of the program forgets the pods: it runs completed jobs again, restart counts
// begin at zero, and processes of a program that was killed keep running without a record. Package runtime lists what a
// program can store.
//
// An image is no file here. For modules in files implement runtime.Images, as runtime.NoImages says.
//
// All pods have the address 127.0.0.1. If two pods listen on one port, admission rejects the second pod only if both
// declare the port as hostPort. Admission compares host ports with other pods, and not with the machine. Your own runtime
// can check in RunSandbox whether they are free on the machine.
//
// Linux and macOS have process groups and TERM. Windows has neither: a stop waits for the grace period and then kills
// the process, its exit code is not 137, and the processes that it has started keep running. The example pods need sh.
//
// The runtime has about 350 lines: sandboxes.go and containers.go have its calls, records.go the status of pods,
// process.go and the group files the parts that depend on the operating system.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/syncloop/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, 8*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "ownruntime:", err)
		os.Exit(1)
	}
}

// run runs two pods and prints their changes until ctx is done or the time d is over. Then it drains the node
// and returns.
func run(ctx context.Context, out io.Writer, d time.Duration) error {
	n, err := node.New(node.Config{
		Runtime:    newProcesses(),
		Containers: node.ContainersConfig{CrashLoop: backoff.CrashLoop{Initial: time.Second}}, // The default of ten seconds is too long for a demonstration.
	})
	if err != nil {
		return err
	}
	for _, pod := range []*v1.Pod{newPod("web", "trap 'exit 0' TERM; while true; do sleep 0.1; done"), newPod("flaky", "sleep 1; exit 3")} {
		if err := n.Apply(pod); err != nil {
			return err
		}
	}
	running, end := context.WithCancel(context.Background())
	defer end()
	ended, shown := make(chan error, 1), make(chan struct{})
	go func() { ended <- n.Run(running) }()
	go func() {
		defer close(shown)
		for state := range n.Watch(running) {
			fmt.Fprintln(out, state.Pod.Name, state.Summary())
		}
	}()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	fmt.Fprintln(out, "draining")
	drain, cancel := context.WithTimeout(running, 10*time.Second)
	defer cancel()
	if err := n.Drain(drain, node.DrainOptions{}); err != nil {
		return err
	}
	end()
	<-shown
	return <-ended
}

// newPod returns a pod that runs a shell script.
func newPod(name, script string) *v1.Pod {
	grace := int64(5)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []v1.Container{{Name: "main", Image: "none", Command: []string{"sh", "-c", script}}},
		},
	}
}
