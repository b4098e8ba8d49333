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
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/workqueue"
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run runs a pod whose container exits after 2.5 seconds, and observes the runtime once a second.
func run(clk clock.Clock, out io.Writer) {
	ctx, stop := context.WithCancel(context.Background())
	start := clk.Now()
	printLine := func(what ...any) { fmt.Fprintln(out, clk.Since(start).Round(time.Second), fmt.Sprint(what...)) }

	containers := memory.New(memory.Config{Clock: clk})
	generator, err := pleg.New(pleg.Config{Runtime: containers, Clock: clk})
	check(err)
	var statuses *status.Store
	var phase v1.PodPhase
	statuses = status.New(status.Config{Clock: clk, Hooks: status.Hooks{Accepted: func(uid types.UID, _ uint64) {
		if published, _ := statuses.GetPodStatus(uid); published.Phase != phase {
			phase = published.Phase
			printLine("the pod is ", phase)
		}
	}}})
	syncer, err := podsync.New(podsync.Config{Runtime: containers, Status: statuses, Changed: generator.RequestRelist, Clock: clk})
	check(err)
	manager, queue := podmanager.New(), workqueue.New(workqueue.Config{Clock: clk})
	workers, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: generator, Queue: queue, Clock: clk})
	check(err)
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	job := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "job", Namespace: "default"}}
	job.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=2.5s exit=3"}
	job.Spec = v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "busybox"}}}
	manager.AddPod(job)
	check(workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: job}))

	// A small sync loop. 6-syncloop replaces it by package syncloop.
	changes := generator.Subscribe(nil)
	for range 6 {
		check(generator.Relist(ctx)) // PLEG.Run would do this once a second, and inspect a pod at once after RequestRelist.
		for _, change := range changes.TakeAll(nil) {
			printLine("PLEG: ", change.Events)
			pod, _ := manager.GetPodByUID(change.UID)
			// With Observation, a change that a failed sync has made itself does not end the backoff of that sync.
			check(workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodSync, Pod: pod, Observation: true}))
		}
		<-clk.After(time.Second)
	}
	stop()
	check(<-ended)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
