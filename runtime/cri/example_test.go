package cri_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// New connects to nothing: that the runtime is not there yet is what the first
// call says, and the next one tries again.
func ExampleNew() {
	dir, _ := os.MkdirTemp("", "example")
	defer func() { _ = os.RemoveAll(dir) }()
	owner, _ := cri.OwnerFile(dir)
	rt, err := cri.New(cri.Config{Endpoint: "unix://" + dir + "/containerd.sock", Owner: owner})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = rt.Close() }()
	_, err = rt.ListPods(context.Background())
	fmt.Println(errors.Is(err, runtime.ErrNotReady))
	// Output: true
}
