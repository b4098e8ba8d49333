package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/workqueue"
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run applies a pod whose container exits after 2.5 seconds, and deletes the pod after six seconds.
func run(clk clock.Clock, out io.Writer) {
	ctx, stop := context.WithCancel(context.Background())
	start := clk.Now()
	elapsed := func() time.Duration { return clk.Since(start).Round(100 * time.Millisecond) }
	// Each part takes parts above it. A change of a pod goes from sources to loop, handlers, workers, syncer and containers.
	manager, queue := podmanager.New(), workqueue.New(workqueue.Config{Clock: clk})
	statuses := status.New(status.Config{Clock: clk})
	containers := memory.New(memory.Config{Clock: clk})
	generator := must(pleg.New(pleg.Config{Runtime: containers, Clock: clk}))
	syncer := must(podsync.New(podsync.Config{Runtime: containers, Status: statuses, Changed: generator.RequestRelist, Clock: clk}))
	workers := must(podworkers.New(podworkers.Config{Syncer: syncer, Cache: generator, Queue: queue, Clock: clk}))
	host := source.NewHandle()
	sources := must(source.New(source.Config{Sources: map[string]source.Source{podmanager.ApiserverSource: host}, Clock: clk}))
	handlers := must(syncloop.NewHandlers(syncloop.HandlersConfig{ // The field Runtime is the snapshot of the PLEG.
		Manager: manager, Workers: workers, Status: statuses, Runtime: generator, Sources: sources, Clock: clk,
	}))
	loop := must(syncloop.New(syncloop.Config{
		Handler: handlers, Updates: sources, Desired: manager, Changes: generator, Clock: clk,
		Hooks: syncloop.Hooks{Cleanup: func(time.Duration, error) { fmt.Fprintln(out, elapsed(), "housekeeping") }},
	}))

	var parts sync.WaitGroup
	for _, run := range []func(context.Context) error{generator.Run, workers.Run, sources.Run, loop.Run} {
		parts.Go(func() { check(run(ctx)) })
	}

	job := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "job", Namespace: "default"}}
	job.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=2.5s exit=3"}
	job.Spec = v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "busybox"}}}
	check(host.Apply(job))
	for i := range 4 {
		<-clk.After(2 * time.Second)
		published, _ := statuses.GetPodStatus(job.UID)
		fmt.Fprintf(out, "%v desired pods: %d, known to the workers: %t, phase: %q\n", elapsed(), len(manager.GetPods()), workers.View(job.UID).Known, published.Phase)
		if i == 2 {
			host.Delete(job.UID)
		}
	}
	stop()
	parts.Wait()
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
