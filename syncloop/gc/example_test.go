package gc_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/gc"
)

// A collector removes what a pod has left behind. Step is the body of Run.
func ExampleNewPods() {
	ctx := context.Background()
	machine := memory.New(memory.Config{})
	id, _ := machine.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "u1", Name: "web"}})
	_ = machine.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: id})

	wanted := map[types.UID]bool{"u1": true}
	pods, err := gc.NewPods(gc.PodsConfig{
		Runtime:   machine,
		Removable: func(uid types.UID) bool { return !wanted[uid] },
		Removed:   func(uid types.UID) { fmt.Println("nothing is left of", uid) },
	})
	if err != nil {
		panic(err)
	}
	pods.Discard([]types.UID{"u1"})
	pods.Step(ctx)
	fmt.Println("pods in the runtime:", len(machine.Look()))
	delete(wanted, "u1")
	pods.Discard([]types.UID{"u1"})
	pods.Step(ctx)
	fmt.Println("pods in the runtime:", len(machine.Look()))
	// Output:
	// pods in the runtime: 1
	// nothing is left of u1
	// pods in the runtime: 0
}
