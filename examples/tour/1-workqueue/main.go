package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/workqueue"
)

// The delays after a sync. The kubelet waits for a minute and for ten seconds, with a jitter of up to 50 %.
const (
	resync = 3 * time.Second
	retry  = time.Second
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run syncs each pod when the queue says that it is due.
func run(clk clock.Clock, out io.Writer) {
	start := clk.Now()
	queue := workqueue.New(workqueue.Config{Clock: clk})
	queue.Enqueue("web", time.Second)
	queue.Enqueue("job", 5*time.Second)
	queue.Enqueue("job", 2*time.Second) // A pod has one entry. The last call counts.
	queue.Enqueue("old", 3*time.Second)
	queue.Remove("old")

	for {
		next, _ := queue.Next()
		if next.Sub(start) >= 5*time.Second {
			return
		}
		<-clk.After(next.Sub(clk.Now())) // One timer serves all pods.
		for _, uid := range queue.GetWork(clk.Now(), nil) {
			elapsed := clk.Since(start).Round(time.Second)
			if err := syncPod(uid, elapsed); err != nil {
				fmt.Fprintf(out, "%v sync %s: %v, again in %v\n", elapsed, uid, err, retry)
				queue.Enqueue(uid, retry)
				continue
			}
			fmt.Fprintf(out, "%v sync %s: ok, again in %v\n", elapsed, uid, resync)
			queue.Enqueue(uid, resync)
		}
	}
}

// syncPod returns an error for the pod job in the first three seconds.
func syncPod(uid types.UID, elapsed time.Duration) error {
	if uid == "job" && elapsed < 3*time.Second {
		return errors.New("no image")
	}
	return nil
}
