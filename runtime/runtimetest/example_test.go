package runtimetest_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// forgetful is a runtime that forgets which sandboxes are on the host's network.
type forgetful struct{ *memory.Runtime }

func (f forgetful) RunSandbox(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
	req.Namespaces.HostNetwork = false
	return f.Runtime.RunSandbox(ctx, req)
}

// printer is a testing.TB of a program that is no test.
type printer struct{ testing.TB }

func (printer) Helper()                           {}
func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printer) FailNow()                          { runtime.Goexit() }
func (printer) Skipf(format string, args ...any) {
	fmt.Printf("skipped: "+format+"\n", args...)
	runtime.Goexit()
}

// A failure ends with the promise of its case. In a test, Run does this for all cases.
func ExampleCase_Run() {
	machine := memory.New(memory.Config{})
	harness := runtimetest.Harness{
		Runtime: forgetful{machine}, Image: "busybox", MissingImage: "nowhere.invalid/none",
		// An agent that comes back finds what it has left.
		Reopen: func(meanwhile func()) (rt.Runtime, error) {
			meanwhile()
			return forgetful{machine}, nil
		},
		Skip: map[string]string{"log/reopen": "logs are in memory"},
	}
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine.
		defer close(done)
		for _, c := range runtimetest.Cases() {
			if c.Name == "status/shape" {
				fmt.Println(c.Name)
				c.Run(printer{}, harness)
			}
		}
	}()
	<-done
	// Output:
	// status/shape
	// SandboxStatus.HostNetwork is false, but Namespaces.HostNetwork of the request is true
	// promise: records echo the fields of the requests that created them
}
