package podworkers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/runtime"
)

// table is a PodSyncer whose pods are rows of a table: no containers, no images, no runtime.
type table struct {
	podworkers.NoRuntimePods
	mu   sync.Mutex
	rows map[types.UID]string
	full bool // the next insert fails
	step chan string
}

// SyncPod writes the row of the pod. It is called again after an error, and for each update.
func (t *table) SyncPod(_ context.Context, _ podworkers.SyncPodType, pod, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full {
		t.full = false
		t.step <- "no room for " + pod.Name
		return false, errors.New("the table is full")
	}
	t.rows[pod.UID] = pod.Labels["value"]
	t.step <- fmt.Sprintf("row %s = %s", pod.Name, t.rows[pod.UID])
	return false, nil
}

// SyncTerminatingPod deletes the row.
func (t *table) SyncTerminatingPod(_ context.Context, pod *v1.Pod, _ *runtime.PodStatus, _ *int64, _ podworkers.PodStatusFunc) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, pod.UID)
	return nil
}

// SyncTerminatedPod has nothing left to clean up.
func (t *table) SyncTerminatedPod(context.Context, *v1.Pod, *runtime.PodStatus) error { return nil }

// Workers for pods without containers, here rows of a table. A failed write is retried, an update
// changes the row, and a kill deletes it.
func Example_table() {
	rows := &table{rows: map[types.UID]string{}, full: true, step: make(chan string, 8)}
	workers, err := podworkers.New(podworkers.Config{
		Syncer: rows,
		Cache:  podworkers.NoCache{},
		Retry:  backoff.Retry{Backoff: 1}, // A nanosecond: the example does not wait.
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx) }()

	row := func(value string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "total", Namespace: "sums", UID: "r1", Labels: map[string]string{"value": value}}}
	}
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodCreate, Pod: row("1")})
	fmt.Println(<-rows.step)
	fmt.Println(<-rows.step)
	_ = workers.UpdatePod(podworkers.UpdatePodOptions{UpdateType: podworkers.SyncPodUpdate, Pod: row("2")})
	fmt.Println(<-rows.step)
	err = workers.Kill(podworkers.UpdatePodOptions{Pod: row("2")}).Wait(ctx)
	fmt.Println("rows:", len(rows.rows), "error:", err)

	stop()
	fmt.Println("ended:", <-ended == nil)
	// Output:
	// no room for total
	// row total = 1
	// row total = 2
	// rows: 0 error: <nil>
	// ended: true
}
