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

// example is a pod with one container, whose image is named after it.
func example(name string, command ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c0", Image: name + ":1", Command: command}}},
	}
}

// A job of three seconds, watched for a minute, takes no time at all.
func ExampleNew() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{Seed: 1})
	job := example("job", "sleep", "3")
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

// Time passes until something has happened, and a call that waits takes virtual
// time too.
func ExampleSimulation_RunUntil() {
	var t testing.B // In a test: its *testing.T.
	b := nodetest.New(&t, nodetest.Config{})
	defer b.Stop()
	b.Apply(example("job", "sleep", "90"))
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
	edge.Apply(example("web", "serve"))
	edge.Run(time.Minute)
	edge.Crash() // A scheduler might now move the pod.
	core.Apply(example("web", "serve"))
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
	b.Apply(example("web", "serve"))
	b.Run(time.Minute)
	fmt.Println(b.Status("web"))
	b.Stop()
	// Output:
	// 1/1 Running restarts=0
}
