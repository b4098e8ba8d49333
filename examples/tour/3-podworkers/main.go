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

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run creates a row, changes it and deletes it.
func run(clk clock.Clock, out io.Writer) {
	ctx, stop := context.WithCancel(context.Background())
	start := clk.Now()
	rows := &table{printLine: func(what string) { fmt.Fprintln(out, clk.Since(start).Round(time.Second), what) }}
	queue := workqueue.New(workqueue.Config{Clock: clk})
	retry := backoff.Retry{Backoff: 2 * time.Second, JitterFactor: 0.1} // The kubelet has ten seconds, and a jitter of up to 50 %.
	workers, err := podworkers.New(podworkers.Config{Syncer: rows, Cache: podworkers.NoCache{}, Queue: queue, Retry: retry, Clock: clk})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	row := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "total", Labels: map[string]string{"value": "10"}}}
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: row})
	<-clk.After(4 * time.Second)
	row = row.DeepCopy() // The workers share the first version, so it must not change.
	row.Labels["value"] = "20"
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: row})
	<-clk.After(2 * time.Second)
	_ = workers.Kill(podworkers.UpdatePodOptions{Pod: row}).Wait(ctx)
	stop()
	<-ended
}

// table is a PodSyncer whose pods are rows of a table.
type table struct {
	podworkers.NoRuntimePods          // implements SyncTerminatingRuntimePod, for pods that only a runtime shows
	values                   sync.Map // by the name of the pod
	locked                   sync.Once
	printLine                func(what string)
}

// SyncPod writes the row. The first call fails. The arguments without a name are the mirror pod, nil for a pod that is
// not static, and the status in the runtime. With isTerminal true the workers would terminate the pod as completed.
func (t *table) SyncPod(_ context.Context, why podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (isTerminal bool, err error) {
	t.locked.Do(func() { err = fmt.Errorf("the table is locked") })
	if err == nil {
		t.values.Store(pod.Name, pod.Labels["value"])
	}
	t.printLine(fmt.Sprintf("SyncPod, type %s: value %s, error %v", why, pod.Labels["value"], err))
	return false, err
}

// SyncTerminatingPod deletes the row. It ignores the grace period, and the function that changes the status to publish,
// for example to the reason of an eviction.
func (t *table) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	t.values.Delete(pod.Name)
	t.printLine("SyncTerminatingPod: the row is deleted")
	return nil
}

// SyncTerminatedPod has nothing left to clean up.
func (t *table) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error { return nil }
