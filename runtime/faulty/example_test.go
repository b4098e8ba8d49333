package faulty_test

import (
	"context"
	"fmt"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
)

// The reply to the first RunSandbox is lost: the caller repeats the attempt and
// learns that it has succeeded.
func ExampleNew() {
	faults, err := faulty.New(faulty.Config{Rules: []faulty.Rule{
		{Verb: faulty.RunSandbox, Times: 1, Do: faulty.FailDone},
	}})
	if err != nil {
		panic(err)
	}
	rt := faults.Wrap(memory.New(memory.Config{}), nil)
	req := runtime.RunSandboxRequest{Pod: runtime.PodRef{UID: "1", Name: "web", Namespace: "default"}}
	for range 2 {
		_, err := rt.RunSandbox(context.Background(), req)
		fmt.Println(err)
	}
	// Output:
	// faulty: injected: RunSandbox
	// memory: sandbox 0 of pod 1: runtime: already exists
}
