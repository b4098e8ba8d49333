// Command ownsyncer shows the pod workers alone, with somebody's own PodSyncer
// and no container runtime at all: here a "container" is a Go function, and its
// image is the function's name.
//
//	go run ./examples/ownsyncer
//
// It runs for about two seconds and ends by itself. What it shows: a pod that
// goes on until it is stopped, one that fails at first and is tried again, one
// that comes to its own end, an update of a running pod, a kill that is waited
// for, and housekeeping, which forgets whatever nobody wants.
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

// run is main without the process around it.
func run(ctx context.Context, out io.Writer) error {
	functions := newFunctions(out)
	workers, err := podworkers.New(podworkers.Config{
		Syncer: functions,
		Cache:  podworkers.NoCache{},
		Retry:  backoff.Retry{Backoff: 450 * time.Millisecond}, // A demonstration has no ten seconds.
		Jitter: func() float64 { return 0 },                    // And is the same each time.
	})
	if err != nil {
		return err
	}
	functions.look = workers.UpdatePod

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- workers.Run(ctx) }()
	story(ctx, workers, functions)
	stop()
	return <-ended
}

// story is what the program tells the workers. In a real one the pods come from
// somewhere, and housekeeping is done every few seconds.
func story(ctx context.Context, workers *podworkers.Workers, functions *functions) {
	create := func(pod *v1.Pod) {
		_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: pod})
		functions.sleep(ctx, 40*time.Millisecond)
	}
	create(newPod("clock", "tick", "tick"))
	create(newPod("late", "tick", "here I am"))
	create(newPod("job", "work", "40 + 2"))

	functions.sleep(ctx, 600*time.Millisecond)
	functions.say("main", "clock gets new content")
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: newPod("clock", "tick", "tock")})

	functions.sleep(ctx, 550*time.Millisecond)
	functions.say("main", "clock is told to end")
	err := workers.Kill(podworkers.UpdatePodOptions{Pod: newPod("clock", "tick", "tock")}).Wait(ctx)
	functions.sleep(ctx, 50*time.Millisecond)
	functions.say("main", fmt.Sprintf("clock has ended: %t", err == nil))

	// Nothing is wanted any more. What has finished is forgotten at once, and
	// what still runs is told to end.
	for known := 1; known > 0 && ctx.Err() == nil; {
		functions.say("main", "housekeeping")
		known = len(workers.SyncKnownPods(podworkers.KnownPods{Generation: workers.Generation(), AllSources: true}))
		functions.sleep(ctx, 250*time.Millisecond)
	}
}

// newPod is a pod with one container.
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
