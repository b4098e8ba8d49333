package pleg_test

import (
	"context"
	"fmt"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// Look at a runtime once, and see what has changed.
func ExampleNew() {
	ctx := context.Background()
	rt := memory.New(memory.Config{})
	p, _ := pleg.New(pleg.Config{Runtime: rt})
	changed := p.Subscribe(nil)

	pod := runtime.PodRef{UID: "1", Name: "web", Namespace: "default"}
	sandbox, _ := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
	_ = p.Relist(ctx)
	fmt.Println(changed.Take(nil))

	_ = rt.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: sandbox})
	_ = p.Relist(ctx)
	fmt.Println(changed.Take(nil))
	// Output:
	// [{1 ContainerStarted}]
	// [{1 ContainerDied}]
}
