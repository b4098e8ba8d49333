package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// examplePod returns a pod with one container. The name of its image is the name of the pod.
func examplePod(name string, command ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c0", Image: name + ":1", Command: command}}},
	}
}

// A job of three seconds, watched for a minute, takes no time at all.
func ExampleNew() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{Seed: 1})
	job := examplePod("job", "sleep", "3")
	job.Spec.RestartPolicy = "Never"
	b.Apply(job)
	b.Run(time.Minute)
	b.Stop()
	fmt.Print(b.Transcript())
	// Output:
	// pod default/job
	//         0s  RunSandbox attempt=0
	//         0s  event Pulling: Pulling image "job:1"
	//         0s  PullImage job:1
	//         0s  event Pulled: Successfully pulled image "job:1" in 0s (0s including waiting). Image size: 1048576 bytes.
	//         0s  CreateContainer c0 attempt=0
	//         0s  event Created: Container c0 created
	//         0s  StartContainer c0
	//         0s  event Started: Container c0 started
	//         0s  | 1/1 Running restarts=0
	//         3s  StopSandbox
	//         3s  | 0/1 Completed restarts=0
}

// An API server deletes a pod in two steps. First the pod gets a DeletionTimestamp, which is the time of the
// deletion plus the grace period. When the containers have stopped, the server removes the object. The node
// continues the first step after a crash. The call that the crash cuts off has a line with an error. The next
// StopContainer begins a new grace period, as with containerd.
func ExampleSimulation_deletion() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{})
	web := examplePod("web", "serve")
	web.Annotations = map[string]string{"memory.podkeel.dev/c0": "run=forever ignore-term"}
	b.Apply(web)
	b.Run(10 * time.Second)

	deleted, grace := web.DeepCopy(), int64(30)
	deleted.DeletionTimestamp = &metav1.Time{Time: b.Now().Add(30 * time.Second)}
	deleted.DeletionGracePeriodSeconds = &grace
	b.Apply(deleted)
	b.Run(5 * time.Second)
	b.Crash()
	b.Run(5 * time.Second) // No agent runs.
	b.Start()
	b.RunUntil(func() bool { return b.Status("web") == "0/1 Error restarts=0" })
	b.Delete(web.UID) // The API server has removed the object.
	b.Run(time.Minute)
	b.Stop()
	fmt.Print(b.Transcript())
	// Output:
	//        15s  the agent crashes
	// pod default/web
	//         0s  RunSandbox attempt=0
	//         0s  event Pulling: Pulling image "web:1"
	//         0s  PullImage web:1
	//         0s  event Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 1048576 bytes.
	//         0s  CreateContainer c0 attempt=0
	//         0s  event Created: Container c0 created
	//         0s  StartContainer c0
	//         0s  event Started: Container c0 started
	//         0s  | 1/1 Running restarts=0
	//        10s  event Killing: Stopping container c0: the pod ends
	//        10s  | 1/1 Terminating restarts=0
	//        15s  StopContainer c0 grace=30s: executor: the process has crashed
	//        15s  StopSandbox: executor: the process has crashed
	//        20s  event Killing: Stopping container c0: the pod ends
	//        50s  StopContainer c0 grace=30s
	//        50s  StopSandbox
	//        50s  | 0/1 Error restarts=0
	//      50.1s  RemoveSandbox
	//      50.1s  | gone
}

// Delete makes a pod undesired, as a source does that delivers it no longer. An agent that has started since
// does not know the pod. It kills the pod after the OrphanGrace of 30 s, because the source may be late.
func ExampleSimulation_Delete() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{})
	web := examplePod("web", "serve")
	b.Apply(web)
	b.Run(10 * time.Second)
	b.Crash()
	b.Delete(web.UID)
	b.Start()
	b.Run(time.Minute)
	b.Stop()
	fmt.Print(b.Transcript())
	// Output:
	//        10s  the agent crashes
	// pod default/web
	//         0s  RunSandbox attempt=0
	//         0s  event Pulling: Pulling image "web:1"
	//         0s  PullImage web:1
	//         0s  event Pulled: Successfully pulled image "web:1" in 0s (0s including waiting). Image size: 1048576 bytes.
	//         0s  CreateContainer c0 attempt=0
	//         0s  event Created: Container c0 created
	//         0s  StartContainer c0
	//         0s  event Started: Container c0 started
	//         0s  | 1/1 Running restarts=0
	//      10.1s  event NotDesired: no source has named this pod of an earlier agent; the pod is killed at 2000-01-01T00:00:40Z unless a source names it, or earlier if another pod needs its name or a host port
	//      40.2s  event Killing: Stopping container c0: the pod is not desired
	//      40.2s  StopContainer c0 grace=30s
	//      40.2s  StopSandbox
	//      42.2s  RemoveSandbox
}

// Time passes until something has happened, and a call that waits takes virtual
// time too.
func ExampleSimulation_RunUntil() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{})
	defer b.Stop()
	b.Apply(examplePod("job", "sleep", "90"))
	took := b.RunUntil(func() bool { return b.Status("job") == "1/1 Running restarts=1" })
	fmt.Println("it runs again after", took)

	ctx, cancel := b.WithTimeout(time.Hour)
	defer cancel()
	fmt.Println("drained:", b.Node().Drain(ctx, node.DrainOptions{}) == nil)
	b.RunUntilIdle()
	b.AssertPhase("job", v1.PodFailed)
	b.AssertStatus("job", "0/1 Terminated restarts=1")
	fmt.Println(b.Pod("job").Status.Phase, b.Status("job"))
	// Output:
	// it runs again after 1m30s
	// drained: true
	// Failed 0/1 Terminated restarts=1
}

// Two nodes on one clock: what lets time pass for one does for both.
func ExampleSimulation_AddNode() {
	var t testing.B // In a test: its *testing.T.
	edge := nodetest.New(&t, nodetest.Config{Node: node.Config{Name: "edge"}})
	core := edge.AddNode(nodetest.Config{Node: node.Config{Name: "core"}})
	edge.Apply(examplePod("web", "serve"))
	edge.Run(time.Minute)
	edge.Crash() // A scheduler might now move the pod.
	core.Apply(examplePod("web", "serve"))
	core.Run(time.Minute)
	core.Stop()
	fmt.Println("edge:", edge.Status("web"))
	fmt.Println("core:", core.Status("web"))
	// Output:
	// edge: 1/1 Running restarts=0
	// core: 1/1 Running restarts=0
}

// Any runtime will do that keeps the rules of Config.Runtime.
func ExampleConfig_runtime() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{Runtime: func(clk clock.Clock) runtime.Runtime {
		return memory.New(memory.Config{Clock: clk, Images: []string{"web:1"}})
	}})
	b.Apply(examplePod("web", "serve"))
	b.Run(time.Minute)
	fmt.Println(b.Status("web"))
	b.Stop()
	// Output:
	// 1/1 Running restarts=0
}
