package pleg_test

import (
	"context"
	"fmt"

	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// Observe a runtime once, and again after a change.
func ExamplePLEG_Relist() {
	ctx := context.Background()
	rt := memory.New(memory.Config{})
	p, err := pleg.New(pleg.Config{Runtime: rt})
	if err != nil {
		fmt.Println(err)
		return
	}
	changes := p.Subscribe(nil)

	pod := runtime.PodRef{UID: "1", Name: "web", Namespace: "default"}
	sandbox, err := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: pod})
	fmt.Println(err, p.Relist(ctx), changes.TakeAll(nil))

	err = rt.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: sandbox})
	fmt.Println(err, p.Relist(ctx), changes.TakeAll(nil))
	// Output:
	// <nil> <nil> [{1 ContainerStarted}]
	// <nil> <nil> [{1 ContainerDied}]
}

// A caller that has changed a pod waits for an observation from after the change.
func ExamplePLEG_NewerThan() {
	node := &onePod{}
	p, err := pleg.New(pleg.Config{Runtime: node})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()

	node.exited.Store(true) // The effect of a sync.
	p.RequestRelist("web")
	mark := p.Mark()
	status, err := p.NewerThan(ctx, "web", mark) // At the start of the next sync.
	fmt.Println(status.Containers[0].State, err)

	cancel()
	fmt.Println(<-ended)
	// Output:
	// exited <nil>
	// <nil>
}
