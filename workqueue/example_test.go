package workqueue_test

import (
	"fmt"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/podkeel/podkeel/workqueue"
)

// The owner of the queue waits until Next, or until Notify.
func ExampleNew() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clk := testclock.NewFakePassiveClock(start)
	queue := workqueue.New(workqueue.Config{Clock: clk})
	queue.Enqueue("web", 10*time.Second)
	queue.Enqueue("job", 5*time.Second)
	queue.Enqueue("web", time.Second) // overwrites

	next, _ := queue.Next()
	fmt.Println("next in", next.Sub(start))

	clk.SetTime(start.Add(5 * time.Second))
	fmt.Println(queue.GetWork(clk.Now(), nil))
	// Output:
	// next in 1s
	// [web job]
}
