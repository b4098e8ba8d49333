package podworkerstest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/podworkers/podworkerstest"
	"github.com/podkeel/podkeel/runtime"
)

// A seed reproduces the order of two concurrent events.
func ExampleNewStepper() {
	for seed := range uint64(3) {
		node := podworkerstest.NewStepper(podworkerstest.Config{Seed: seed})
		node.Create(podworkerstest.Pod("a"), podworkerstest.Pod("b"), podworkerstest.Pod("c"))
		node.RunUntilIdle()
		var order []types.UID
		for _, e := range node.Trace.Events() {
			if e.What == podworkerstest.Begun {
				order = append(order, e.UID)
			}
		}
		fmt.Println(order)
		node.Close()
	}
	// Output:
	// [c b a]
	// [c a b]
	// [a b c]
}

// A crash at a step, and new workers in the same simulation.
func ExampleStepper_CrashAt() {
	node := podworkerstest.NewStepper(podworkerstest.Config{})
	defer node.Close()
	node.Syncer.Script("web", lifecycle.SyncPod, podworkerstest.Reply{Takes: 5 * time.Second})
	node.CrashAt(3)
	node.Create(podworkerstest.Pod("web"))
	node.Advance(time.Minute)
	node.Restart()
	node.Create(podworkerstest.Pod("web"))
	node.Advance(time.Minute)
	fmt.Print(node.Transcript())
	// Output:
	// 0s       web  create
	// 0s       web  SyncPod create ...
	// 0s            crash
	// 0s       web  ... SyncPod create: executor: the process has crashed, after 0s
	// 1m0s     web  create
	// 1m0s     web  SyncPod create ...
	// 1m5s     web  ... SyncPod create: ok, after 5s
}

func ExampleNewSyncer() {
	syncer := podworkerstest.NewSyncer(nil)
	syncer.Script("job", lifecycle.SyncPod,
		podworkerstest.Reply{Err: errors.New("no image yet")}, // the first call
		podworkerstest.Reply{Ends: true})                      // all others
	for range 3 {
		fmt.Println(syncer.SyncPod(context.Background(), podworkers.SyncPodSync, podworkerstest.Pod("job"), nil, nil))
	}
	// Output:
	// false no image yet
	// true <nil>
	// true <nil>
}

func ExampleNewCache() {
	cache := podworkerstest.NewCache(nil)
	cache.Set(podworkerstest.RunningStatus("web"))
	status, err := cache.NewerThan(context.Background(), "web", cache.Mark())
	fmt.Println(status.Containers[0].State, err)

	cache.Fail("web", errors.New("runtime is down"))
	_, err = cache.NewerThan(context.Background(), "web", cache.Mark())
	fmt.Println(err)
	// Output:
	// running <nil>
	// runtime is down
}

// With goroutines a Trace records the calls of a syncer and the hooks of the workers.
func ExampleNewTrace() {
	trace := podworkerstest.NewTrace(nil)
	syncer := trace.WrapSyncer(podworkerstest.NewSyncer(nil))
	_ = syncer.SyncTerminatedPod(context.Background(), podworkerstest.Pod("web"), nil)
	for _, e := range trace.Events() {
		fmt.Println(e.UID, e.Method, e.What == podworkerstest.Ended)
	}
	// Output:
	// web SyncTerminatedPod false
	// web SyncTerminatedPod true
}

// The rules of a trace, and the error for a violation.
func ExampleRules_Check() {
	err := podworkerstest.Rules{}.Check([]podworkerstest.Event{
		{What: podworkerstest.Updated, UID: "web", Type: podworkers.SyncPodCreate},
		{What: podworkerstest.Begun, UID: "web", Incarnation: 1, Method: lifecycle.SyncPod},
		{What: podworkerstest.Begun, UID: "web", Incarnation: 1, Method: lifecycle.SyncPod},
	})
	fmt.Println(err)
	// Output:
	// I1: line 2: 0s web: SyncPod sync: another call is running
}

// A PodSyncer that waits. In an agent the wait takes real time, here it takes none.
func ExampleConfig_syncer() {
	node := podworkerstest.NewStepper(podworkerstest.Config{
		Syncer: func(clk clock.Clock) podworkers.PodSyncer { return slow{podworkerstest.NewSyncer(clk)} },
	})
	defer node.Close()
	node.Create(podworkerstest.Pod("web"))
	node.Advance(time.Minute)
	fmt.Print(node.Transcript())
	// Output:
	// 0s       web  create
	// 0s       web  SyncPod create ...
	// 10s      web  ... SyncPod create: ok, after 10s
}

// slow is a PodSyncer that needs ten seconds to start a pod.
type slow struct{ *podworkerstest.Syncer }

func (slow) SyncPod(ctx context.Context, _ podworkers.SyncPodType, _, _ *v1.Pod, _ *runtime.PodStatus) (bool, error) {
	return false, podworkers.Wait(ctx, 10*time.Second)
}
