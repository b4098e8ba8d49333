package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/workqueue"
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run runs a pod whose container exits after 2.5 seconds, and prints the calls of the runtime.
func run(clk clock.Clock, out io.Writer) {
	ctx, stop := context.WithCancel(context.Background())
	start := clk.Now()
	printLine := func(what string) { fmt.Fprintln(out, clk.Since(start).Round(time.Second), what) }

	containers := memory.New(memory.Config{Clock: clk, Hooks: memory.Hooks{Call: func(call memory.Call) {
		if !strings.HasSuffix(call.Verb, "Status") { // It changes something.
			printLine(call.Verb)
		}
	}}})
	statuses := status.New(status.Config{Clock: clk})
	syncer, err := podsync.New(podsync.Config{Runtime: containers, Status: statuses, Clock: clk})
	check(err)
	queue := workqueue.New(workqueue.Config{Clock: clk})
	retry := backoff.Retry{Resync: 5 * time.Second, JitterFactor: 0.05} // The kubelet has a minute, and a jitter of up to 50 %.
	workers, err := podworkers.New(podworkers.Config{Syncer: syncer, Cache: uncached{containers}, Queue: queue, Retry: retry, Clock: clk})
	check(err)
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	job := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "job", Namespace: "default"}}
	job.Annotations = map[string]string{memory.AnnotationPrefix + "main": "run=2.5s exit=3"}
	job.Spec = v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "busybox"}}}
	check(workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: job}))
	for range 3 {
		<-clk.After(2 * time.Second)
		observed := containers.SnapshotStatus(job.UID).Containers[0]
		published, _ := statuses.GetPodStatus(job.UID)
		printLine(fmt.Sprintf("the container is %s, and the pod is %s", observed.State, published.Phase))
	}
	stop()
	check(<-ended)
}

// uncached is a runtime.StatusCache that reads each status from the runtime. A cache numbers its observations. After a
// call of the PodSyncer the workers store the newest number (Mark). Before the next call for the pod they wait for an
// observation with a higher number (NewerThan). Here NewerThan itself observes, so it needs no number.
type uncached struct{ runtime.Runtime }

func (u uncached) Get(uid types.UID) (*runtime.PodStatus, error) {
	return u.PodStatus(context.Background(), uid)
}
func (u uncached) Mark() uint64 { return 0 }
func (u uncached) NewerThan(ctx context.Context, uid types.UID, _ uint64) (*runtime.PodStatus, error) {
	return u.PodStatus(ctx, uid)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
