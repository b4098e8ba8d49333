package podworkerstest_test

import (
	"fmt"
	"time"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podworkerstest"
)

// One pod's whole lifecycle. The first column is the virtual time; the test does not wait.
func Example() {
	node := podworkerstest.NewStepper(podworkerstest.Config{})
	defer node.Close()

	// Starting the pod takes three seconds, stopping it five.
	node.Syncer.Script("web", lifecycle.SyncPod, podworkerstest.Reply{Takes: 3 * time.Second}, podworkerstest.Reply{})
	node.Syncer.Script("web", lifecycle.SyncTerminatingPod, podworkerstest.Reply{Takes: 5 * time.Second})

	// The pod is created, and its content changes while it is being started.
	node.Create(podworkerstest.Pod("web", podworkerstest.Version(1)))
	node.Advance(time.Second)
	node.Update(podworkerstest.Pod("web", podworkerstest.Version(2)))

	// Then there is no update for two minutes. The pod is still synced once a minute.
	node.Advance(2 * time.Minute)

	// The pod is killed with a grace period of thirty seconds, and is no longer desired.
	done := node.KillWithin(podworkerstest.Pod("web", podworkerstest.Version(2)), 30)
	node.Advance(10 * time.Second)
	node.SyncKnown()

	fmt.Print(node.Transcript())
	fmt.Println("stopped:", done.Err() == nil)
	// Output:
	// 0s       web  create v1
	// 0s       web  SyncPod create v1 ...
	// 1s       web  update v2
	// 3s       web  ... SyncPod create v1: ok, after 3s
	// 3s       web  SyncPod update v2: ok
	// 1m3s     web  SyncPod sync v2: ok
	// 2m1s     web  kill v2 within 30s
	// 2m1s     web  is terminating
	// 2m1s     web  SyncTerminatingPod v2 within 30s ...
	// 2m6s     web  ... SyncTerminatingPod v2 within 30s: ok, after 5s
	// 2m6s     web  is terminated
	// 2m6s     web  SyncTerminatedPod v2: ok
	// 2m6s     web  is finished
	// 2m11s         desired: []
	// 2m11s    web  is forgotten
	// stopped: true
}
