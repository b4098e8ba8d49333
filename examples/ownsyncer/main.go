// Command ownsyncer shows the pod workers alone, with a custom PodSyncer and without a container runtime: a "container"
// is a Go function, and its image is the function's name.
//
//	go run ./examples/ownsyncer
//
// It runs for about two seconds. It shows a pod that runs until it is stopped, a pod that fails at first and is
// retried, a pod that terminates by itself, an update of a running pod, a kill with a wait for its completion, and
// housekeeping, which removes pods that are no longer desired.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ownsyncer:", err)
		os.Exit(1)
	}
}

// run runs the workers and the demonstration, stops the workers, and returns their error.
func run(ctx context.Context, out io.Writer) error {
	functions := newFunctions(out)
	workers, err := podworkers.New(podworkers.Config{
		Syncer: functions,
		Cache:  podworkers.NoCache{},
		Retry:  backoff.Retry{Backoff: 450 * time.Millisecond}, // The default of ten seconds is too long for a demonstration.
		Jitter: func() float64 { return 0 },                    // The output must be the same each time.
	})
	if err != nil {
		return err
	}
	functions.requestSync = workers.UpdatePod

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- workers.Run(ctx) }()
	runStory(ctx, workers, functions)
	stop()
	return <-ended
}

// runStory sends the updates of the demonstration to the workers, and waits until they know no pod. In a real
// program the pods come from a source, and housekeeping runs every few seconds.
func runStory(ctx context.Context, workers *podworkers.Workers, functions *functions) {
	create := func(pod *v1.Pod) {
		_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod})
		functions.sleepUnlessDone(ctx, 40*time.Millisecond)
	}
	create(newPod("clock", "tick", "tick"))
	create(newPod("late", "tick", "here I am"))
	create(newPod("job", "work", "40 + 2"))

	functions.sleepUnlessDone(ctx, 600*time.Millisecond)
	functions.printLine("main", "clock gets new content")
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: newPod("clock", "tick", "tock")})

	functions.sleepUnlessDone(ctx, 550*time.Millisecond)
	functions.printLine("main", "clock is killed")
	err := workers.Kill(podworkers.UpdatePodOptions{Pod: newPod("clock", "tick", "tock")}).Wait(ctx)
	functions.sleepUnlessDone(ctx, 50*time.Millisecond)
	functions.printLine("main", fmt.Sprintf("clock has terminated: %t", err == nil))

	// No pod is desired now. The workers remove finished pods at once, and terminate those that still run.
	for known := 1; known > 0 && ctx.Err() == nil; {
		functions.printLine("main", "housekeeping")
		known = len(workers.SyncKnownPods(podworkers.KnownPods{Generation: workers.Generation(), AllSources: true}))
		functions.sleepUnlessDone(ctx, 250*time.Millisecond)
	}
}

// newPod returns a pod with one container.
func newPod(name, image, arg string) *v1.Pod {
	grace := int64(1)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []v1.Container{{Name: "main", Image: image, Args: []string{arg}}},
		},
	}
}
